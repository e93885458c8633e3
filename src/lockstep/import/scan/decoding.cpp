#include "lockstep/import/scan/decoding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lockstep/base/error.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kDecodedChunk = 256 * 1024;

/// Bytes that were read to find out what they are, then the rest.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  std::size_t read(char* buffer, std::size_t size) override {
    if (used_ == prefix_.size()) return rest_->read(buffer, size);
    const std::size_t count = std::min(size, prefix_.size() - used_);
    std::memcpy(buffer, prefix_.data() + used_, count);
    used_ += count;
    return count;
  }

 private:
  std::string prefix_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), in_(kDecodedChunk) {
    // 15 + 16: the largest window, gzip framing only.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) {
      throw Error(ErrorKind::kEnvironment, "zlib cannot be initialised: out of memory");
    }
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (!done_ && stream_.avail_out == wanted) step();
    return wanted - stream_.avail_out;
  }

 private:
  void step() {
    if (stream_.avail_in == 0 && !refill()) {
      if (!between_members_) fail("ends in the middle of its gzip stream");
      done_ = true;
      return;
    }
    if (between_members_ && !starts_member()) {
      done_ = true;  // zero padding after the last member, as tar and tape tools leave it
      return;
    }
    between_members_ = false;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      inflateReset(&stream_);
      between_members_ = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail("is a damaged gzip stream");
    }
  }

  bool starts_member() const { return *stream_.next_in == 0x1f; }

  bool refill() {
    const std::size_t count = packed_->read(in_.data(), in_.size());
    taken_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  [[noreturn]] void fail(const char* what) {
    done_ = true;
    throw Error(ErrorKind::kData,
                fmt::format("{} {} at compressed byte {}", name_, what, taken_ - stream_.avail_in),
                "copy the file again; what came before that byte can be used");
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::vector<char> in_;
  z_stream stream_{};
  std::uint64_t taken_ = 0;
  bool between_members_ = false;
  bool done_ = false;
};

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// UTF-16, as PowerShell's redirection writes logs. Unpaired surrogates become U+FFFD.
class Utf16Source final : public ByteSource {
 public:
  Utf16Source(std::unique_ptr<ByteSource> wide, bool big_endian)
      : wide_(std::move(wide)), big_endian_(big_endian), in_(kDecodedChunk) {}

  std::size_t read(char* buffer, std::size_t size) override {
    while (used_ == text_.size()) {
      if (!convert()) return 0;
    }
    const std::size_t count = std::min(size, text_.size() - used_);
    std::memcpy(buffer, text_.data() + used_, count);
    used_ += count;
    return count;
  }

 private:
  bool convert() {
    text_.clear();
    used_ = 0;
    const std::size_t count = wide_->read(in_.data() + kept_, in_.size() - kept_);
    if (count == 0) return false;
    const std::size_t total = kept_ + count;
    std::size_t i = 0;
    for (; i + 1 < total; i += 2) {
      const auto a = static_cast<unsigned char>(in_[i]);
      const auto b = static_cast<unsigned char>(in_[i + 1]);
      unit(big_endian_ ? a * 256u + b : b * 256u + a);
    }
    kept_ = total - i;
    if (kept_ != 0) in_[0] = in_[i];
    return true;
  }

  void unit(std::uint32_t value) {
    if (high_ != 0) {
      const bool pair = value >= 0xDC00 && value < 0xE000;
      append_utf8(text_, pair ? 0x10000 + ((high_ - 0xD800) << 10) + (value - 0xDC00) : 0xFFFD);
      high_ = 0;
      if (pair) return;
    }
    if (value >= 0xD800 && value < 0xDC00) {
      high_ = value;
    } else {
      append_utf8(text_, value >= 0xDC00 && value < 0xE000 ? 0xFFFD : value);
    }
  }

  std::unique_ptr<ByteSource> wide_;
  bool big_endian_;
  std::vector<char> in_;
  std::size_t kept_ = 0;
  std::uint32_t high_ = 0;
  std::string text_;
  std::size_t used_ = 0;
};

std::string read_ahead(ByteSource& bytes, std::size_t size) {
  std::string ahead(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const std::size_t count = bytes.read(ahead.data() + have, size - have);
    if (count == 0) break;
    have += count;
  }
  ahead.resize(have);
  return ahead;
}

struct Archive {
  std::string_view magic;
  const char* name;
  const char* command;
};

constexpr Archive kArchives[] = {
    {std::string_view("PK\x03\x04", 4), "zip", "unzip"},
    {std::string_view("\xFD\x37zXZ", 5), "xz", "xz -d"},
    {std::string_view("\x28\xB5\x2F\xFD", 4), "zstd", "zstd -d"},
    {std::string_view("BZh9\x31\x41\x59", 7), "bzip2", "bzip2 -d"},
};

/// Text in UTF-16 without a mark: every second byte of the beginning is zero, the others are not.
int unmarked_utf16(std::string_view ahead) {
  if (ahead.size() < 8) return 0;
  std::size_t even = 0;
  std::size_t odd = 0;
  const std::size_t size = std::min<std::size_t>(ahead.size() & ~std::size_t{1}, 64);
  for (std::size_t i = 0; i < size; i += 2) {
    even += ahead[i] == '\0';
    odd += ahead[i + 1] == '\0';
  }
  const std::size_t pairs = size / 2;
  if (odd * 10 >= pairs * 9 && even == 0) return 1;
  if (even * 10 >= pairs * 9 && odd == 0) return 2;
  return 0;
}

}  // namespace

std::unique_ptr<ByteSource> decode(std::unique_ptr<ByteSource> bytes, const std::string& name) {
  std::string ahead = read_ahead(*bytes, 64);
  if (ahead.starts_with("\x1f\x8b")) {
    auto whole = std::make_unique<PrefixedSource>(std::move(ahead), std::move(bytes));
    bytes = std::make_unique<GzipSource>(std::move(whole), name);
    ahead = read_ahead(*bytes, 64);
  }
  for (const Archive& archive : kArchives) {
    if (std::string_view(ahead).starts_with(archive.magic)) {
      throw Error(ErrorKind::kData, fmt::format("{} is a {} archive", name, archive.name),
                  fmt::format("unpack it first: {} {}", archive.command, name));
    }
  }
  if (ahead.starts_with("\xEF\xBB\xBF")) ahead.erase(0, 3);
  const int unmarked = unmarked_utf16(ahead);
  const bool little = ahead.starts_with("\xFF\xFE") || unmarked == 1;
  const bool big = ahead.starts_with("\xFE\xFF") || unmarked == 2;
  if ((little || big) && unmarked == 0) ahead.erase(0, 2);
  bytes = std::make_unique<PrefixedSource>(std::move(ahead), std::move(bytes));
  if (little || big) bytes = std::make_unique<Utf16Source>(std::move(bytes), big);
  return bytes;
}

}  // namespace lockstep::import
