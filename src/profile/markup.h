// What the pages of the tools are made of: one style for light and dark ground, escaped text, facts and
// tables. A page is one file without script and without anything to fetch. Used by mpiexec and the tools, in
// one thread.
#pragma once

#include <string>
#include <vector>

namespace hearth::profile {

/// What may stand in text and attributes of HTML.
std::string escaped(const std::string& text);

/// A <style> element: colours by name, and how text, tables and pictures look.
const char* page_style();

/// A name and a value; stands in <dl class="facts">.
std::string fact(const std::string& name, const std::string& value);

struct Cell {
  Cell(std::string words) : text(escaped(words)) {}
  Cell(const char* words) : text(escaped(words)) {}
  /// What is markup already: a picture or code.
  static Cell of_markup(std::string markup) {
    Cell cell("");
    cell.text = std::move(markup);
    return cell;
  }

  std::string text;
};

/// A table whose columns are text or, with a leading '#', numbers.
class Table {
 public:
  explicit Table(const std::vector<std::string>& columns);
  Table& row(const std::vector<Cell>& cells);
  std::string end() const { return out_ + "</tbody></table></div>\n"; }

 private:
  std::string out_;
  std::vector<bool> numbers_;
};

}  // namespace hearth::profile
