// Building blocks of the tools' HTML pages: one style for light and dark mode, escaped text, facts and
// tables. A page is one file without scripts and without external resources. Used by mpiexec and the tools,
// in one thread.
#pragma once

#include <string>
#include <vector>

namespace hearth::profile {

/// Text that is safe in the content and attributes of HTML.
std::string escaped(const std::string& text);

/// A <style> element: named colours, and the appearance of text, tables and charts.
const char* page_style();

/// A name and a value, for use in <dl class="facts">.
std::string fact(const std::string& name, const std::string& value);

struct Cell {
  Cell(std::string words) : text(escaped(words)) {}
  Cell(const char* words) : text(escaped(words)) {}
  /// A cell that already is markup: a chart or code.
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
