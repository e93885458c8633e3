#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launch {

/// Cuts a stream of bytes into lines, in bounded memory: a line longer than the limit is passed on
/// in pieces of that length. A carriage return before the line break is dropped.
class LineBuffer {
 public:
  using Sink = std::function<void(std::string_view line)>;

  explicit LineBuffer(std::size_t limit) : limit_(limit) {}

  /// Calls `sink` for every line that `bytes` completes.
  void add(std::string_view bytes, const Sink& sink);
  /// Passes on what came after the last line break, if anything did.
  void finish(const Sink& sink);

 private:
  std::size_t limit_;
  std::string partial_;
};

}  // namespace lockstep::launch
