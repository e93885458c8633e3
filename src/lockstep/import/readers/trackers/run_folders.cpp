#include "lockstep/import/readers/trackers/run_folders.h"

#include "lockstep/base/error.h"

namespace lockstep::import {

std::string ContentDigest::file(const std::filesystem::path& path, std::size_t largest) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return {};
  try {
    Input input(path.string(), open_bytes(path.string()));
    std::string text(input.peek(largest + 1));
    if (text.size() > largest) return {};
    input.drain();
    add(input.digest(), input.offset());
    return text;
  } catch (const Error&) {
    return {};
  }
}

void ContentDigest::add(std::string_view digest, std::uint64_t bytes) {
  digests_ += digest;
  ++files_;
  bytes_ += bytes;
}

std::string ContentDigest::text() const {
  if (files_ == 1) return digests_;
  Input input("", bytes_in_memory(digests_));
  input.drain();
  return input.digest();
}

}  // namespace lockstep::import
