// Writes man pages with the macros of man(7). All text is escaped, and a page has no date: equal sources give
// equal pages. Called by `mpiexec --man-page` and `hearth --man-page`, which the build runs; one thread.
#pragma once

#include <string>
#include <vector>

namespace hearth::launch {

/// Text that troff prints unchanged, on any line and in any argument of a macro. Lines remain lines.
std::string troff_escaped(const std::string& text);

/// A page of section 1. Each function appends an element; texts are plain.
class ManPage {
 public:
  /// `names`: the command, then its links. `purpose`: the text after the dash, by which apropos finds it.
  ManPage(const std::vector<std::string>& names, const std::string& purpose, const std::string& version);

  void section(const std::string& title);
  void subsection(const std::string& title);
  /// One form of the command, each on a line of its own.
  void form(const std::string& command, const std::string& arguments);
  void paragraph(const std::string& text);
  /// A paragraph with these names in bold after the text.
  void names(const std::string& text, const std::vector<std::string>& names);
  void item(const std::string& term, const std::string& text);
  /// An item for an option. `arguments` begins with a blank unless they follow the last name directly.
  void option(const std::vector<std::string>& names, const std::string& arguments, const std::string& text);
  /// Lines that are neither filled nor joined.
  void lines(const std::string& text);
  /// Pages of section 1.
  void see_also(const std::vector<std::string>& names);

  const std::string& text() const { return text_; }

 private:
  void heading(const char* macro, const std::string& title);
  void begin_paragraph();

  std::string text_;
  bool after_heading_ = false;  // a paragraph begins there without a macro
};

}  // namespace hearth::launch
