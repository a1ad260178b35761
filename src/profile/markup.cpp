#include "profile/markup.h"

namespace hearth::profile {
namespace {

constexpr const char* kStyle = R"(<style>
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f6f8fb; --text: #0f172a; --soft: #475569;
--line: #dbe2ec; --blue: #0b62c4; --orange: #c2410c; --green: #15803d; --violet: #7e22ce; --teal:
#0f766e; --red: #be123c; --gray: #94a3b8; --pale: #cbd5e1; --on-heat: #ffffff } @media
(prefers-color-scheme: dark) { :root { --ground: #0f172a; --panel: #16213a; --text: #f1f5f9; --soft:
#a8b4c6; --line: #2b3a55; --blue: #6cb0ff; --orange: #ff9d5c; --green: #5fd38a; --violet: #c89bff;
--teal: #4fd1c5; --red: #ff8fa3; --gray: #64748b; --pale: #3b4b66; --on-heat: #0f172a } } * {
box-sizing: border-box } body { margin: 0 auto; padding: 28px 24px 60px; max-width: 1120px; background:
var(--ground); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif } h1
{ font-size: 15px; font-weight: 600; margin: 0; color: var(--soft) } h2 { font-size: 18px; margin: 40px
0 4px } p { margin: 4px 0 12px; max-width: 78ch } .soft, caption { color: var(--soft) } .verdict {
font-size: 24px; line-height: 1.35; font-weight: 600; margin: 10px 0 14px; max-width: 52ch } .facts {
display: flex; flex-wrap: wrap; gap: 10px 28px; margin: 0; padding: 14px 18px; background: var(--panel);
border-radius: 8px } .facts div { min-width: 84px } .facts dt { font-size: 12px; color: var(--soft) }
.facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere } .side { display: flex; flex-wrap:
wrap; gap: 28px } .scroll { overflow-x: auto } svg { max-width: 100%; height: auto; display: block } svg
text { font-size: 12px; fill: var(--soft) } svg .panel { font-weight: 600; fill: var(--text) } svg
.small { font-size: 11px } svg .tiny { font-size: 10px } svg .on-heat { font-size: 11px; fill:
var(--on-heat) } svg .strong { font-size: 11px; fill: var(--text) } .grid { stroke: var(--line) } .axis
{ stroke: var(--gray) } .k-rest { fill: var(--pale) } .k-copy { fill: var(--green) } .k-late-sender {
fill: var(--orange) } .k-late-receiver { fill: var(--violet) } .k-request { fill: var(--teal) }
.k-collective { fill: var(--red) } .k-finalize { fill: var(--gray) } .k-empty { fill: var(--panel) }
.k-heat { fill: var(--blue) } .k-messages { fill: var(--orange) } .k-bytes { fill: var(--blue) } .k-even
{ fill: var(--gray) } .w0 { fill: var(--blue) } .w1 { fill: var(--teal) } .w2 { fill: var(--orange) }
.w3 { fill: var(--green) } .w4 { fill: var(--violet) } table { border-collapse: collapse; font-size:
14px; margin: 6px 0 } caption { text-align: left; font-size: 13px } th, td { padding: 5px 14px 5px 0;
text-align: left; border-bottom: 1px solid var(--line); vertical-align: top } th { font-weight: 600;
color: var(--soft); font-size: 13px } .n { text-align: right; font-variant-numeric: tabular-nums;
white-space: nowrap } td.n, th.n { padding-right: 20px } code { font: 13px ui-monospace, monospace }
details summary { cursor: pointer; color: var(--soft); margin: 8px 0 } footer { margin-top: 48px;
border-top: 1px solid var(--line); padding-top: 12px; color: var(--soft); font-size: 13px }
</style>
)";

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // Names come from users: control characters must not get into a page.
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

const char* page_style() {
  return kStyle;
}

std::string fact(const std::string& name, const std::string& value) {
  return "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>";
}

Table::Table(const std::vector<std::string>& columns) {
  out_ = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& column : columns) {
    numbers_.push_back(column.starts_with("#"));
    out_ += numbers_.back() ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">";
    out_ += escaped(column.substr(numbers_.back() ? 1 : 0)) + "</th>";
  }
  out_ += "</tr></thead><tbody>\n";
}

Table& Table::row(const std::vector<Cell>& cells) {
  out_ += "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    out_ += numbers_[i] ? "<td class=\"n\">" : "<td>";
    out_ += cells[i].text + "</td>";
  }
  out_ += "</tr>\n";
  return *this;
}

}  // namespace hearth::profile
