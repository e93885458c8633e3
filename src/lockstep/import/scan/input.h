#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// Where bytes come from: a file, standard input, memory, or another source that is unpacked.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills up to `size` bytes; 0 only at the end. Throws kData when what it reads is damaged and
  /// kEnvironment when it cannot be read.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

/// "-" is standard input. Throws kData for a path that is missing, a folder or unreadable.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// `bytes` must outlive the source.
std::unique_ptr<ByteSource> bytes_in_memory(std::string_view bytes);

/// One file to import, as text or bytes after unpacking: gzip is unpacked, UTF-16 becomes UTF-8 and
/// a byte order mark is dropped. Reads forward only, in fixed memory, and keeps a digest of all
/// that went by.
class Input {
 public:
  /// `name` is what messages call it: the path, or "-".
  Input(std::string name, std::unique_ptr<ByteSource> bytes);

  const std::string& name() const { return name_; }

  /// The next bytes without taking them: `size` of them unless the input ends before. The view
  /// is valid until the next call.
  std::string_view peek(std::size_t size);

  /// Takes the next bytes; 0 at the end. A source that turns out damaged ends there, with
  /// `damage()` set, so that what was read before is kept.
  std::size_t read(char* buffer, std::size_t size);

  /// Takes all that is left, so that the digest covers the whole input.
  void drain();

  /// Bytes taken so far (unpacked).
  std::uint64_t offset() const { return offset_; }

  /// What is wrong with the input itself, one sentence with the byte; empty when sound.
  const std::string& damage() const { return damage_; }

  /// 32 hexadecimal digits over the bytes taken so far: equal for a file and its gzip.
  std::string digest() const;

 private:
  void fill(std::size_t size);
  std::size_t pull(char* buffer, std::size_t size);
  void count(const char* data, std::size_t size);

  std::string name_;
  std::unique_ptr<ByteSource> bytes_;
  std::string ahead_;  ///< peeked at, not yet taken
  std::size_t ahead_begin_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t digest_[2];
  char digest_tail_[16];
  std::size_t digest_tail_size_ = 0;
  std::string damage_;
  bool ended_ = false;
};

}  // namespace lockstep::import
