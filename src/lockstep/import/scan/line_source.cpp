#include "lockstep/import/scan/line_source.h"

#include <algorithm>
#include <cstring>

namespace lockstep::import {
namespace {

constexpr std::size_t kLineChunk = 128 * 1024;
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

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == kEscape) {
      i = skip_escape(text, i);
    } else {
      if (text[i] != '\0') plain += text[i];
      ++i;
    }
  }
  return plain;
}

LineSource::LineSource(Input& input) : input_(input), buffer_(kLineChunk) {}

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
  overwritten_ = has(fresh, count, '\r') || has(fresh, count, '\b') || has(fresh, count, '\0') ||
                 (overwritten_ && end_ > 0);
  marked_ = has(fresh, count, kEscape) || (marked_ && end_ > 0);
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
    std::size_t stop = rest_.find('\r');
    // Backspaces and zeros are rare: looked for only up to the next carriage return.
    stop = std::min(stop, rest_.substr(0, stop).find('\b'));
    stop = std::min(stop, rest_.substr(0, stop).find('\0'));
    if (stop != std::string_view::npos && rest_[stop] == '\0' && binary_line_ == 0)
      binary_line_ = number_;
    segment = rest_.substr(0, stop);
    rest_ = stop == std::string_view::npos ? std::string_view() : rest_.substr(stop + 1);
    if (!segment.empty()) return true;
  }
  return false;
}

std::string_view LineSource::clean(std::string_view text) {
  if (!has(text.data(), text.size(), kEscape)) return text;
  cleaned_ = without_escapes(text);
  return cleaned_;
}

bool LineSource::next(Line& line) {
  for (;;) {
    std::string_view text;
    if (!rest_.empty()) {
      if (!next_segment(text)) continue;
    } else {
      if (!next_raw(text)) return false;
      if (overwritten_) {
        rest_ = text;
        if (!next_segment(text)) continue;
      }
    }
    if (marked_) text = clean(text);
    if (text.empty()) continue;
    line.text = text;
    line.number = number_ + (cutting_ ? 1 : 0);
    return true;
  }
}

}  // namespace lockstep::import
