#include "lockstep/import/scan/printed_frame.h"

#include <algorithm>
#include <optional>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kWidestFrame = 64;
constexpr std::size_t kMostFrameRows = 10'000;
constexpr std::size_t kMostFrames = 1'000;
constexpr std::size_t kLongestFrameLine = 4096;

std::vector<std::string> words_on(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; words.size() <= kWidestFrame;) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// "time/avg_epoch_time", "batch_size", "metrics/mAP50(B)": no number, no punctuation of prose.
bool is_column_name(std::string_view word) {
  if (word.empty() || !(is_letter(word[0]) || word[0] == '_')) return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '/' || c == '.' || c == '-' ||
           c == '@' || c == '(' || c == ')' || c == '%';
  });
}

/// The names of a frame, or nothing. `goes_on`: its other columns are printed below.
std::vector<std::string> frame_names(std::string_view line, bool& goes_on) {
  goes_on = false;
  // "Out[5]:  gpus  batch_size": the prompt of a notebook pasted as text.
  if (line.starts_with("Out")) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && colon < 12) line.remove_prefix(colon + 1);
  }
  if (line.empty() || (line[0] != ' ' && line[0] != '\t') || line.size() > kLongestFrameLine)
    return {};
  std::vector<std::string> names = words_on(line);
  if (!names.empty() && names.back() == "\\") {
    goes_on = true;
    names.pop_back();
  }
  const bool named = !names.empty() && names.size() <= kWidestFrame &&
                     std::all_of(names.begin(), names.end(), is_column_name);
  return named && (names.size() >= 2 || goes_on) ? names : std::vector<std::string>();
}

/// "gpus batch_size time 0 1 32 38.0 4 2 32 67.0": a frame whose line breaks were lost. Only where
/// the numbers make whole lines and the index does not repeat.
std::optional<PrintedFrame> one_line_frame(std::string_view line, std::uint64_t number) {
  if (line.size() > kLongestFrameLine || line.find('_') == std::string_view::npos)
    return std::nullopt;
  std::string plain;
  for (const char c : line) {
    if (c != '\\') plain += c;
  }
  const std::vector<std::string> words = words_on(plain);
  std::size_t end = words.size();
  while (end > 0 && parse_number(words[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_column_name(words[begin - 1])) --begin;
  const std::size_t columns = end - begin;
  const std::size_t values = words.size() - end;
  if (columns < 2 || values < 2 * (columns + 1) || values % (columns + 1) != 0) return std::nullopt;
  PrintedFrame frame{number,
                     {words.begin() + static_cast<std::ptrdiff_t>(begin),
                      words.begin() + static_cast<std::ptrdiff_t>(end)},
                     {},
                     {}};
  for (std::size_t at = end; at < words.size(); at += columns + 1) {
    if (std::find(frame.index.begin(), frame.index.end(), words[at]) != frame.index.end())
      return std::nullopt;
    frame.index.push_back(words[at]);
    frame.rows.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(at + 1),
                            words.begin() + static_cast<std::ptrdiff_t>(at + columns + 1));
  }
  return frame;
}

/// Adds the columns of `part` to `frame`; false where their lines are not the same ones.
bool widen(PrintedFrame& frame, const PrintedFrame& part) {
  if (frame.index != part.index) return false;
  frame.columns.insert(frame.columns.end(), part.columns.begin(), part.columns.end());
  for (std::size_t i = 0; i < frame.rows.size(); ++i)
    frame.rows[i].insert(frame.rows[i].end(), part.rows[i].begin(), part.rows[i].end());
  return true;
}

class FrameScan {
 public:
  void line(std::string_view text) {
    ++number_;
    std::vector<std::string> words;
    if (open_ && text.size() <= kLongestFrameLine) words = words_on(text);
    if (open_ && words.size() == part_.columns.size() + 1 && part_.rows.size() < kMostFrameRows &&
        !is_column_name(words[0])) {
      part_.index.push_back(std::move(words.front()));
      words.erase(words.begin());
      part_.rows.push_back(std::move(words));
      return;
    }
    close();
    if (auto whole = one_line_frame(text, number_)) {
      finish();
      frames_.push_back(std::move(*whole));
      return;
    }
    bool goes_on = false;
    std::vector<std::string> names = frame_names(text, goes_on);
    if (names.empty()) {
      if (!trim(text).empty()) finish();  // only blank lines stand between the parts of a frame
      return;
    }
    if (!expects_more_) finish();
    part_ = PrintedFrame{number_, std::move(names), {}, {}};
    open_ = true;
    part_goes_on_ = goes_on;
  }

  std::vector<PrintedFrame> result() {
    close();
    finish();
    return std::move(frames_);
  }

 private:
  /// The part under way is complete.
  void close() {
    if (!open_) return;
    open_ = false;
    if (part_.rows.empty()) {
      expects_more_ = false;
      frame_ = PrintedFrame();
      return;
    }
    if (frame_.columns.empty()) {
      frame_ = std::move(part_);
    } else if (!widen(frame_, part_)) {
      frame_ = PrintedFrame();
      expects_more_ = false;
      return;
    }
    expects_more_ = part_goes_on_;
  }

  void finish() {
    if (!frame_.columns.empty() && !expects_more_ && frames_.size() < kMostFrames)
      frames_.push_back(std::move(frame_));
    frame_ = PrintedFrame();
    expects_more_ = false;
  }

  std::vector<PrintedFrame> frames_;
  PrintedFrame frame_;  ///< its parts so far
  PrintedFrame part_;
  bool open_ = false;
  bool part_goes_on_ = false;
  bool expects_more_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace

std::vector<PrintedFrame> find_frames(std::string_view text) {
  FrameScan scan;
  for_each_line(text, [&](std::string_view line) { scan.line(line); });
  return scan.result();
}

}  // namespace lockstep::import
