#include "lockstep/import/readers/tables/markdown_blocks.h"

#include <algorithm>
#include <array>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "```bash": how many signs, and the word behind them.
struct Fence {
  char sign = 0;
  std::size_t length = 0;
  std::string_view word;
};

Fence fence_of(std::string_view line) {
  line = trim(line);
  while (line.starts_with("> ")) line = trim(line.substr(2));
  Fence fence;
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return fence;
  const std::size_t end = std::min(line.find_first_not_of(line[0]), line.size());
  if (end < 3 || line.find('`', end) != std::string_view::npos) return fence;
  return {line[0], end, trim(line.substr(end))};
}

/// "## Results": 2; 0 for any other line.
std::size_t heading_level(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  if (level == std::string_view::npos || level == 0 || level > 6 || line[level] != ' ') return 0;
  return trim(line.substr(level)).empty() ? 0 : level;
}

/// Programs, settings and pages: nothing that a run printed.
bool is_source(std::string_view word) {
  constexpr std::array<std::string_view, 26> kLanguages{
      "python", "py",    "python3", "cpp",  "c++", "c",       "cuda", "java",   "go",
      "rust",   "js",    "ts",      "yaml", "yml", "toml",    "ini",  "docker", "dockerfile",
      "make",   "cmake", "diff",    "html", "xml", "mermaid", "tex",  "bibtex"};
  std::string language = lower(word.substr(0, word.find_first_of(" ,{:")));
  if (language.empty() && word.starts_with('{'))
    language = lower(word.substr(1, word.find('}') - 1));
  return std::find(kLanguages.begin(), kLanguages.end(), language) != kLanguages.end();
}

bool has_document_name(std::string_view name) {
  const std::string small = lower(name);
  return small.ends_with(".md") || small.ends_with(".markdown");
}

/// Goes over the lines of a document.
class MarkdownScan {
 public:
  void line(std::string_view text) {
    ++number_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    const Fence fence = fence_of(text);
    if (open_.sign != 0) {
      const bool closes =
          fence.sign == open_.sign && fence.length >= open_.length && fence.word.empty();
      if (closes) {
        close();
      } else {
        block_.text += std::string(text) + '\n';
      }
      found_.prose += '\n';
      return;
    }
    if (indented_line(text)) return;
    if (fence.sign != 0) {
      begin(fence);
      found_.prose += '\n';
      return;
    }
    found_.prose += std::string(text) + '\n';
    if (const std::size_t level = heading_level(text)) {
      headings_.resize(std::min(headings_.size(), level - 1));
      headings_.resize(level - 1);
      headings_.emplace_back(trim(text.substr(level)));
    }
    if (!trim(text).empty()) last_ = std::string(trim(text));
  }

  MarkdownText result() {
    if (open_.sign != 0 || indented_) close();  // the document was cut
    return std::move(found_);
  }

 private:
  /// Lines indented by four blanks below an empty line are a block of code, too: a notebook that
  /// was turned into Markdown has its output in them. Below an item of a list they go on with the
  /// item.
  bool indented_line(std::string_view text) {
    const bool empty = trim(text).empty();
    const bool inside = text.starts_with("    ") || text.starts_with('\t');
    if (indented_ && !inside && !empty) close();
    const bool begins = !indented_ && inside && !empty && after_empty_ && !in_list_;
    if (begins) begin({});
    indented_ = indented_ || begins;
    after_empty_ = empty;
    if (!empty && !inside) in_list_ = is_item(text);
    if (!indented_) return false;
    const std::size_t indent = empty ? text.size() : text.starts_with('\t') ? 1 : 4;
    block_.text += std::string(text.substr(std::min(indent, text.size()))) + '\n';
    found_.prose += std::string(text) + '\n';  // it may as well be a table
    return true;
  }

  static bool is_item(std::string_view text) {
    text = trim(text);
    const std::size_t digits = text.find_first_not_of("0123456789");
    const bool numbered = digits != std::string_view::npos && digits > 0 && digits < 4 &&
                          (text[digits] == '.' || text[digits] == ')');
    return numbered || text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ");
  }

  void begin(const Fence& fence) {
    open_ = fence;
    source_ = is_source(fence.word);
    block_ = CodeBlock{number_ + 1, {}, {}, {}, {}};
    for (const std::string& heading : headings_) {
      if (!heading.empty()) block_.headings.push_back(heading);
    }
    if (!block_.headings.empty()) block_.heading = block_.headings.back();
    if (last_.ends_with(':')) block_.introduction = last_;
  }

  void close() {
    if (!source_ && !trim(block_.text).empty()) found_.blocks.push_back(std::move(block_));
    open_ = {};
    indented_ = false;
    last_.clear();
  }

  MarkdownText found_;
  CodeBlock block_;
  Fence open_;
  bool source_ = false;
  bool indented_ = false;              ///< in a block without a fence
  bool after_empty_ = true;            ///< below an empty line
  bool in_list_ = false;               ///< below an item of a list
  std::vector<std::string> headings_;  ///< by level
  std::string last_;
  std::uint64_t number_ = 0;
};

}  // namespace

bool is_markdown(std::string_view text, std::string_view name) {
  if (has_document_name(name)) return true;
  if (!contains(text, "```") || !contains(text, "## ")) return false;
  bool headings = false;
  std::size_t fences = 0;
  for_each_line(text, [&](std::string_view line) {
    if (fence_of(line).sign == '`') ++fences;
    // "# nThread 1": one sign alone begins a comment as well.
    headings = headings || (fences % 2 == 0 && heading_level(line) > 1);
  });
  return headings && fences > 1;
}

MarkdownText cut_markdown(std::string_view text) {
  MarkdownScan scan;
  for_each_line(text, [&](std::string_view line) { scan.line(line); });
  return scan.result();
}

}  // namespace lockstep::import
