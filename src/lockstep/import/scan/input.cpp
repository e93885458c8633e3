#include "lockstep/import/scan/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lockstep/base/error.h"
#include "lockstep/import/scan/decoding.h"

namespace lockstep::import {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}
  ~FileSource() override {
    if (owned_) close(descriptor_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(char* buffer, std::size_t size) override {
    for (;;) {
      const ssize_t count = ::read(descriptor_, buffer, size);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno == EINTR) continue;
      throw Error(ErrorKind::kData,
                  fmt::format("{} could not be read: {}", name_, std::strerror(errno)));
    }
  }

 private:
  int descriptor_;
  bool owned_;
  std::string name_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, bytes_.size());
    std::memcpy(buffer, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

// Odd constants of the multiply-rotate hash below; any odd numbers with mixed bits do.
constexpr std::uint64_t kMultiply[2] = {0x9E3779B97F4A7C15ull, 0xC2B2AE3D27D4EB4Full};

std::uint64_t rotate(std::uint64_t value, int bits) {
  return (value << bits) | (value >> (64 - bits));
}

void mix(std::uint64_t (&state)[2], const char* block) {
  std::uint64_t word[2];
  std::memcpy(word, block, 16);
  state[0] = rotate(state[0] ^ (word[0] * kMultiply[0]), 29) * kMultiply[1] + word[1];
  state[1] = rotate(state[1] ^ (word[1] * kMultiply[1]), 31) * kMultiply[0] + word[0];
}

std::uint64_t finish(std::uint64_t value) {
  value = (value ^ (value >> 33)) * kMultiply[1];
  value = (value ^ (value >> 29)) * kMultiply[0];
  return value ^ (value >> 32);
}

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  if (path == "-") return std::make_unique<FileSource>(STDIN_FILENO, false, "standard input");
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw Error(ErrorKind::kData,
                fmt::format("{} could not be opened: {}", path, std::strerror(errno)));
  }
  auto source = std::make_unique<FileSource>(descriptor, true, path);
  struct stat facts {};
  if (fstat(descriptor, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    throw Error(ErrorKind::kData, fmt::format("{} is a folder, not a file", path));
  }
  return source;
}

std::unique_ptr<ByteSource> bytes_in_memory(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}

Input::Input(std::string name, std::unique_ptr<ByteSource> bytes)
    : name_(std::move(name)),
      bytes_(decode(std::move(bytes), name_)),
      digest_{kMultiply[1], kMultiply[0]} {}

std::size_t Input::pull(char* buffer, std::size_t size) {
  if (ended_) return 0;
  try {
    const std::size_t count = bytes_->read(buffer, size);
    if (count == 0) ended_ = true;
    return count;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    damage_ = error.what();
    ended_ = true;
    return 0;
  }
}

void Input::fill(std::size_t size) {
  if (ahead_begin_ != 0) {
    ahead_.erase(0, ahead_begin_);
    ahead_begin_ = 0;
  }
  while (ahead_.size() < size && !ended_) {
    const std::size_t have = ahead_.size();
    ahead_.resize(std::min(size, std::max<std::size_t>(have * 2, 65536)));
    ahead_.resize(have + pull(ahead_.data() + have, ahead_.size() - have));
  }
}

std::string_view Input::peek(std::size_t size) {
  if (ahead_.size() - ahead_begin_ < size) fill(size);
  return std::string_view(ahead_).substr(ahead_begin_, size);
}

std::size_t Input::read(char* buffer, std::size_t size) {
  std::size_t count = std::min(size, ahead_.size() - ahead_begin_);
  if (count > 0) {
    std::memcpy(buffer, ahead_.data() + ahead_begin_, count);
    ahead_begin_ += count;
    if (ahead_begin_ == ahead_.size()) {
      ahead_ = std::string();
      ahead_begin_ = 0;
    }
  } else {
    count = pull(buffer, size);
  }
  this->count(buffer, count);
  return count;
}

void Input::drain() {
  std::vector<char> buffer(64 * 1024);
  while (read(buffer.data(), buffer.size()) > 0) {
  }
}

void Input::count(const char* data, std::size_t size) {
  offset_ += size;
  while (size > 0) {
    if (digest_tail_size_ == 0 && size >= 16) {
      for (; size >= 16; data += 16, size -= 16) mix(digest_, data);
      continue;
    }
    const std::size_t part = std::min(size, 16 - digest_tail_size_);
    std::memcpy(digest_tail_ + digest_tail_size_, data, part);
    digest_tail_size_ += part;
    data += part;
    size -= part;
    if (digest_tail_size_ == 16) {
      mix(digest_, digest_tail_);
      digest_tail_size_ = 0;
    }
  }
}

std::string Input::digest() const {
  std::uint64_t state[2] = {digest_[0], digest_[1]};
  char block[16] = {};
  std::memcpy(block, digest_tail_, digest_tail_size_);
  mix(state, block);
  state[0] ^= offset_;
  return fmt::format("{:016x}{:016x}", finish(state[0] + state[1]),
                     finish(state[1] ^ finish(state[0])));
}

}  // namespace lockstep::import
