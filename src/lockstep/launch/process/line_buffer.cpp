#include "lockstep/launch/process/line_buffer.h"

#include <algorithm>

namespace lockstep::launch {
namespace {

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void LineBuffer::add(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const std::size_t room = limit_ - partial_.size();
    const std::size_t end = bytes.find('\n');
    // A line break right after a full line ends it; it does not open an empty one.
    if (end != std::string_view::npos && end <= room) {
      partial_.append(bytes.substr(0, end));
      sink(without_carriage_return(partial_));
      partial_.clear();
      bytes.remove_prefix(end + 1);
      continue;
    }
    if (room == 0) {
      sink(partial_);
      partial_.clear();
      continue;
    }
    const std::size_t taken = std::min(room, bytes.size());
    partial_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
}

void LineBuffer::finish(const Sink& sink) {
  if (partial_.empty()) return;
  sink(without_carriage_return(partial_));
  partial_.clear();
}

}  // namespace lockstep::launch
