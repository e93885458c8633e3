#include "lockstep/import/line_source.h"

#include <cstring>

namespace lockstep::import {
namespace {

constexpr std::size_t kChunk = 1024 * 1024;
constexpr char kEscape = '\x1b';

bool has(const char* data, std::size_t size, char byte) {
  return std::memchr(data, byte, size) != nullptr;
}

/// Past a terminal control sequence that begins at `i`: colours (CSI ... letter) and titles (OSC
/// ... BEL), or two bytes.
std::size_t skip_escape(std::string_view text, std::size_t i) {
  ++i;
  if (i >= text.size()) return i;
  if (text[i] == '[') {
    for (++i; i < text.size(); ++i) {
      if (text[i] >= '@' && text[i] <= '~') return i + 1;
    }
    return i;
  }
  if (text[i] == ']') {
    for (++i; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
    }
    return i;
  }
  return i + 1;
}

}  // namespace

LineSource::LineSource(Input& input) : input_(input), buffer_(kChunk) {}

bool LineSource::refill() {
  if (ended_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const std::size_t count = input_.read(buffer_.data() + end_, buffer_.size() - end_);
  if (count == 0) {
    ended_ = true;
    return false;
  }
  // Judged once for each chunk, so that plain text pays nothing for it line by line.
  const char* fresh = buffer_.data() + end_;
  const bool rough_part = has(fresh, count, '\r') || has(fresh, count, '\b') ||
                          has(fresh, count, kEscape) || has(fresh, count, '\0');
  rough_ = rough_part || (rough_ && end_ > 0);
  end_ += count;
  return true;
}

bool LineSource::next_raw(std::string_view& raw) {
  for (;;) {
    const void* found = std::memchr(buffer_.data() + searched_, '\n', end_ - searched_);
    if (found != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      raw = std::string_view(buffer_.data() + begin_, at - begin_);
      begin_ = searched_ = at + 1;
      ++number_;
      const bool tail = cutting_;
      cutting_ = false;
      if (tail) continue;  // the end of a line whose beginning was given already
      return true;
    }
    searched_ = end_;
    if (end_ - begin_ >= kLongestLine) {
      raw = std::string_view(buffer_.data() + begin_, end_ - begin_);
      begin_ = searched_ = end_;
      const bool tail = cutting_;
      cutting_ = true;
      if (cut_line_ == 0) cut_line_ = number_ + 1;
      if (!tail) return true;
    } else if (!refill()) {
      raw = std::string_view(buffer_.data() + begin_, end_ - begin_);
      begin_ = searched_ = end_;
      if (raw.empty() || cutting_) return false;
      ++number_;
      return true;
    }
  }
}

bool LineSource::next_segment(std::string_view& segment) {
  while (!rest_.empty()) {
    const std::size_t stop = rest_.find_first_of("\r\b");
    segment = rest_.substr(0, stop);
    rest_ = stop == std::string_view::npos ? std::string_view() : rest_.substr(stop + 1);
    if (!segment.empty()) return true;
  }
  return false;
}

std::string_view LineSource::clean(std::string_view text) {
  const bool escapes = has(text.data(), text.size(), kEscape);
  const bool zeros = has(text.data(), text.size(), '\0');
  if (!escapes && !zeros) return text;
  if (zeros && binary_line_ == 0) binary_line_ = number_;
  cleaned_.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == kEscape) {
      i = skip_escape(text, i);
    } else {
      if (text[i] != '\0') cleaned_ += text[i];
      ++i;
    }
  }
  return cleaned_;
}

bool LineSource::next(Line& line) {
  for (;;) {
    std::string_view text;
    if (!rest_.empty()) {
      if (!next_segment(text)) continue;
    } else {
      if (!next_raw(text)) return false;
      if (rough_) {
        rest_ = text;
        if (!next_segment(text)) continue;
      }
    }
    if (rough_) text = clean(text);
    if (text.empty()) continue;
    line.text = text;
    line.number = number_ + (cutting_ ? 1 : 0);
    return true;
  }
}

}  // namespace lockstep::import
