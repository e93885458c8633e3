#include <functional>

#include "lockstep/base/text/text.h"
#include "lockstep/report/render/render.h"

namespace lockstep::report {
namespace {

std::string escape_markdown(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (std::string_view("\\`*_[]<>|").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string escape_latex(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    const char c = text[at];
    // The signs of our own texts that LaTeX sets only in math mode.
    if (rest.starts_with("±") || rest.starts_with("×")) {
      safe += rest.starts_with("±") ? "$\\pm$" : "$\\times$";
      at += std::string_view("±").size() - 1;
    } else if (c == '\\') {
      safe += "\\textbackslash{}";
    } else if (c == '~') {
      safe += "\\textasciitilde{}";
    } else if (c == '^') {
      safe += "\\textasciicircum{}";
    } else if (c == '<' || c == '>') {
      safe += c == '<' ? "\\textless{}" : "\\textgreater{}";
    } else {
      if (std::string_view("{}$&#_%").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

using Escape = std::function<std::string(const std::string&)>;

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : separator) + part;
  return all;
}

std::vector<std::string> headers(const Table& table, const Escape& escape) {
  std::vector<std::string> texts;
  for (const Column& column : table.columns) texts.push_back(escape(header_with_unit(column)));
  return texts;
}

std::vector<std::string> cells(const std::vector<Cell>& row, const Escape& escape) {
  std::vector<std::string> texts;
  for (const Cell& cell : row) texts.push_back(escape(shown(cell)));
  return texts;
}

}  // namespace

std::string render_markdown(const Table& table, const RenderOptions& options) {
  std::string out;
  if (!table.title.empty()) out += "### " + escape_markdown(printable(table.title)) + "\n\n";
  out += "| " + joined(headers(table, escape_markdown), " | ") + " |\n|";
  for (const Column& column : table.columns) out += column.align == Align::kLeft ? "---|" : "---:|";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "| " + joined(cells(row, escape_markdown), " | ") + " |\n";
  }
  if (!table.notes.empty()) out += "\n";
  for (const std::string& note : table.notes) {
    out += "- " + escape_markdown(printable(note)) + "\n";
  }
  if (!options.definitions) return out;
  std::string definitions;
  for (const Column& column : table.columns) {
    if (column.definition.empty()) continue;
    definitions += "- **" + escape_markdown(printable(column.header)) +
                   "**: " + escape_markdown(printable(column.definition)) + "\n";
  }
  return definitions.empty() ? out : out + "\n" + definitions;
}

std::string render_latex(const Table& table, const RenderOptions& options) {
  // Plain tabular and \hline: compiles without any package.
  std::string out = "\\begin{table}\n\\centering\n";
  if (!table.title.empty()) out += "\\caption{" + escape_latex(printable(table.title)) + "}\n";
  out += "\\begin{tabular}{";
  for (const Column& column : table.columns) out += column.align == Align::kLeft ? 'l' : 'r';
  out += "}\n\\hline\n" + joined(headers(table, escape_latex), " & ") + " \\\\\n\\hline\n";
  for (const auto& row : table.rows) out += joined(cells(row, escape_latex), " & ") + " \\\\\n";
  out += "\\hline\n\\end{tabular}\n";
  for (const std::string& note : table.notes) {
    out += "\\par\\small " + escape_latex(printable(note)) + "\n";
  }
  if (options.definitions) {
    for (const Column& column : table.columns) {
      if (column.definition.empty()) continue;
      out += "\\par\\small \\emph{" + escape_latex(printable(column.header)) +
             "}: " + escape_latex(printable(column.definition)) + "\n";
    }
  }
  return out + "\\end{table}\n";
}

}  // namespace lockstep::report
