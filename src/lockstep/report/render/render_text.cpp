#include <algorithm>
#include <numeric>

#include "lockstep/base/text/text.h"
#include "lockstep/report/render/render.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kGap = 2;
/// Text columns are not wrapped narrower than this; below it the columns are split into blocks.
constexpr std::size_t kNarrowestText = 16;

/// A column with its texts ready to be measured and printed.
struct Strip {
  std::string header;
  std::vector<std::string> cells;
  Align align = Align::kRight;
  std::size_t width = 0;
  std::size_t word_floor = 0;  ///< narrowest with the header broken at spaces, cells whole
  std::size_t text_floor = 0;  ///< narrowest with the cells wrapped too
};

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

Strip make_strip(const Table& table, std::size_t index) {
  const Column& column = table.columns[index];
  Strip strip{header_with_unit(column), {}, column.align};
  std::size_t cells = 1;
  for (const auto& row : table.rows) {
    strip.cells.push_back(shown(row[index]));
    cells = std::max(cells, display_width(strip.cells.back()));
  }
  const std::size_t word = longest_word(strip.header);
  strip.width = std::max(cells, display_width(strip.header));
  strip.word_floor = std::max(cells, word);
  strip.text_floor = column.align == Align::kLeft ? std::max(word, std::min(cells, kNarrowestText))
                                                  : strip.word_floor;
  return strip;
}

std::size_t total_width(const std::vector<Strip*>& strips) {
  return std::accumulate(strips.begin(), strips.end(),
                         strips.empty() ? 0 : kGap * (strips.size() - 1),
                         [](std::size_t sum, const Strip* strip) { return sum + strip->width; });
}

/// Takes columns away where most can be spared until all fit or none is left to take.
void shrink(const std::vector<Strip*>& strips, std::size_t width, std::size_t Strip::*floor) {
  while (total_width(strips) > width) {
    Strip* widest = nullptr;
    for (Strip* strip : strips) {
      const bool spare = strip->width > strip->*floor;
      if (spare &&
          (widest == nullptr || strip->width - strip->*floor > widest->width - widest->*floor)) {
        widest = strip;
      }
    }
    if (widest == nullptr) return;
    --widest->width;
  }
}

/// Nothing is known in any row.
bool is_empty(const Table& table, std::size_t column) {
  return !table.rows.empty() && column > 0 &&
         std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const std::vector<Cell>& row) { return row[column].unknown(); });
}

/// Takes the columns out that have the same text in every row, where the table is wider than the
/// terminal; returns what they say: "device cpu, epochs 2".
std::string take_common(std::vector<Strip>& strips, std::size_t& labels, std::size_t width) {
  std::vector<Strip*> all;
  for (Strip& strip : strips) all.push_back(&strip);
  const std::size_t rows = strips.empty() ? 0 : strips.front().cells.size();
  if (width == 0 || rows < 2 || total_width(all) <= width) return "";
  // Measured values that happen to be equal stay in their rows.
  const auto common = [](const Strip& strip) {
    return !strip.header.empty() && strip.cells.front().find('.') == std::string::npos &&
           std::all_of(strip.cells.begin(), strip.cells.end(),
                       [&](const std::string& cell) { return cell == strip.cells.front(); });
  };
  if (std::all_of(strips.begin(), strips.end(), common)) return "";
  std::string text;
  for (std::size_t i = 0; i < strips.size();) {
    if (!common(strips[i])) {
      ++i;
      continue;
    }
    text += (text.empty() ? "" : ", ") + strips[i].header + " " + strips[i].cells.front();
    strips.erase(strips.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < labels) --labels;
  }
  labels = std::max<std::size_t>(labels, 1);
  return text;
}

/// The labels that begin every block after the first: those that tell the rows apart.
std::vector<Strip*> repeated_labels(const std::vector<Strip*>& labels, std::size_t width) {
  std::vector<Strip*> repeated;
  for (Strip* label : labels) {
    const auto differs = [&](const std::string& cell) { return cell != label->cells.front(); };
    if (std::any_of(label->cells.begin(), label->cells.end(), differs)) repeated.push_back(label);
  }
  if (repeated.empty() && !labels.empty()) repeated.push_back(labels.front());
  while (repeated.size() > 1 && 2 * total_width(repeated) > width) {
    repeated.erase(
        std::max_element(repeated.begin(), repeated.end(),
                         [](const Strip* a, const Strip* b) { return a->width < b->width; }));
  }
  return repeated;
}

/// Groups of columns that fit side by side, each beginning with labels.
std::vector<std::vector<Strip*>> split(std::vector<Strip>& strips, std::size_t labels,
                                       std::size_t width) {
  std::vector<Strip*> all;
  for (Strip& strip : strips) all.push_back(&strip);
  if (width == 0) return {all};
  shrink(all, width, &Strip::word_floor);
  shrink(all, width, &Strip::text_floor);
  if (total_width(all) <= width) return {all};
  std::vector<std::vector<Strip*>> blocks;
  const std::vector<Strip*> label(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(labels));
  for (std::size_t i = labels; i < all.size(); ++i) {
    if (!blocks.empty()) {
      blocks.back().push_back(all[i]);
      if (total_width(blocks.back()) <= width) continue;
      blocks.back().pop_back();
    }
    blocks.push_back(blocks.empty() ? label : repeated_labels(label, width));
    blocks.back().push_back(all[i]);
  }
  if (blocks.empty()) blocks.push_back(all);
  return blocks;
}

void append_padded(std::string& line, const std::string& text, const Strip& strip) {
  const std::size_t used = display_width(text);
  const std::string padding(strip.width > used ? strip.width - used : 0, ' ');
  line += strip.align == Align::kLeft ? text + padding : padding + text;
}

/// One row of the table, as many lines as its most wrapped cell; the header hangs at the bottom.
void append_row(std::string& out, const std::vector<Strip*>& block,
                const std::vector<const std::string*>& texts, bool bottom) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < block.size(); ++i) {
    wrapped.push_back(wrap(*texts[i], block[i]->width));
    height = std::max(height, wrapped.back().size());
  }
  for (std::size_t y = 0; y < height; ++y) {
    std::string line;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::size_t above = bottom ? height - wrapped[i].size() : 0;
      const bool inside = y >= above && y - above < wrapped[i].size();
      if (i > 0) line.append(kGap, ' ');
      append_padded(line, inside ? wrapped[i][y - above] : "", *block[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
}

void append_block(std::string& out, const std::vector<Strip*>& block, std::size_t rows) {
  std::vector<const std::string*> texts;
  for (const Strip* strip : block) texts.push_back(&strip->header);
  const bool headed = std::any_of(block.begin(), block.end(),
                                  [](const Strip* strip) { return !strip->header.empty(); });
  if (headed) {
    append_row(out, block, texts, true);
    for (std::size_t i = 0; i < block.size(); ++i) {
      out += std::string(i > 0 ? kGap : 0, ' ') + std::string(block[i]->width, '-');
    }
    out += "\n";
  }
  for (std::size_t row = 0; row < rows; ++row) {
    texts.clear();
    for (const Strip* strip : block) texts.push_back(&strip->cells[row]);
    append_row(out, block, texts, false);
  }
}

}  // namespace

std::string render_text(const Table& table, const RenderOptions& options) {
  std::vector<Strip> strips;
  std::size_t labels = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (is_empty(table, i)) continue;
    if (i < table.label_columns) ++labels;
    strips.push_back(make_strip(table, i));
  }
  std::string out;
  if (!table.title.empty()) append_wrapped(out, "", printable(table.title), options.width);
  const std::string common = take_common(strips, labels, options.width);
  if (!common.empty()) append_wrapped(out, "all rows: ", common, options.width);
  bool first = true;
  for (const auto& block : split(strips, labels, options.width)) {
    if (!first) out += "\n";
    first = false;
    append_block(out, block, table.rows.size());
  }
  for (const std::string& note : table.notes) {
    append_wrapped(out, "note: ", printable(note), options.width);
  }
  if (options.definitions) {
    for (const Column& column : table.columns) {
      if (column.definition.empty()) continue;
      append_wrapped(out, "  " + printable(column.header) + ": ", printable(column.definition),
                     options.width);
    }
  }
  return out;
}

}  // namespace lockstep::report
