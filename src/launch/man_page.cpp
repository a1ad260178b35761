#include "launch/man_page.h"

#include <algorithm>
#include <cctype>

namespace hearth::launch {
namespace {

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return troff_escaped(text);
}

std::string bold(const std::string& text) {
  return "\\fB" + in_one_line(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + in_one_line(text) + "\\fR";
}

std::string bold_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + bold(name);
  return list;
}

}  // namespace

std::string troff_escaped(const std::string& text) {
  std::string escaped;
  bool line_begins = true;
  for (const char letter : text) {
    // A dot in front of a line would make it a request, as would a quote, which is always escaped.
    if (line_begins && letter == '.') escaped += "\\&";
    line_begins = letter == '\n';
    switch (letter) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':  // unescaped, it may be printed as a hyphen, which a shell does not accept
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '"':
        escaped += "\\(dq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

ManPage::ManPage(const std::vector<std::string>& names, const std::string& purpose,
                 const std::string& version) {
  std::string title = names[0];
  for (char& letter : title) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  text_ = ".TH " + troff_escaped(title) + " 1 \"\" \"" + troff_escaped(version) + "\" \"User Commands\"\n";
  text_ += ".nh\n.ad l\n";  // names and paths are not hyphenated
  section("NAME");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  paragraph(list + " - " + purpose);
}

void ManPage::section(const std::string& title) {
  heading(".SH", title);
}

void ManPage::subsection(const std::string& title) {
  heading(".SS", title);
}

void ManPage::form(const std::string& command, const std::string& arguments) {
  if (!after_heading_) text_ += ".br\n";
  after_heading_ = false;
  text_ += bold(command) + " " + in_one_line(arguments) + "\n";
}

void ManPage::paragraph(const std::string& text) {
  begin_paragraph();
  text_ += in_one_line(text) + "\n";
}

void ManPage::names(const std::string& text, const std::vector<std::string>& names) {
  paragraph(text);
  text_ += bold_list(names) + "\n";
}

void ManPage::item(const std::string& term, const std::string& text) {
  option({term}, "", text);
}

void ManPage::option(const std::vector<std::string>& names, const std::string& arguments,
                     const std::string& text) {
  after_heading_ = false;
  text_ += ".TP\n" + bold_list(names) + (arguments.empty() ? "" : italic(arguments)) + "\n" +
           in_one_line(text) + "\n";
}

void ManPage::lines(const std::string& text) {
  begin_paragraph();
  text_ += ".nf\n" + troff_escaped(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

void ManPage::see_also(const std::vector<std::string>& names) {
  section("SEE ALSO");
  for (const std::string& name : names) {
    text_ += bold(name) + "(1)" + (&name == &names.back() ? "" : ",") + "\n";
  }
}

void ManPage::heading(const char* macro, const std::string& title) {
  text_ += std::string(macro) + " \"" + in_one_line(title) + "\"\n";
  after_heading_ = true;
}

void ManPage::begin_paragraph() {
  if (!after_heading_) text_ += ".PP\n";
  after_heading_ = false;
}

}  // namespace hearth::launch
