#include "lockstep/data/files/inflating_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "lockstep/base/error.h"
#include "lockstep/data/files/mapped_file.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr std::uint64_t kBestRatio = 1032;            // of deflate, by its format

bool starts_with_gzip_magic(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

struct InflatingFile::State {
  MappedFile file;
  bool gzip;
  bool stream_ended = false;
  std::uint64_t offset = 0;  // of the content
  std::size_t consumed = 0;  // of the file
  z_stream stream{};

  State(const std::string& path, const std::string& hint)
      : file(path, hint), gzip(starts_with_gzip_magic(file.bytes())) {}
  ~State() {
    if (gzip) inflateEnd(&stream);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kData, fmt::format("{}: {}", file.path(), what));
  }

  /// Up to `size` bytes; fewer only at the end of the content.
  std::size_t take(std::uint8_t* out, std::size_t size) {
    const std::size_t got = gzip ? inflate_some(out, size) : copy_some(out, size);
    offset += got;
    return got;
  }

  std::size_t copy_some(std::uint8_t* out, std::size_t size) {
    const auto rest = file.bytes().subspan(consumed);
    const std::size_t got = std::min(size, rest.size());
    if (got > 0) std::memcpy(out, rest.data(), got);
    consumed += got;
    return got;
  }

  std::size_t inflate_some(std::uint8_t* out, std::size_t size) {
    std::size_t got = 0;
    while (got < size && !stream_ended) {
      const auto rest = file.bytes().subspan(consumed);
      stream.next_in = const_cast<Bytef*>(rest.data());
      stream.avail_in = static_cast<uInt>(std::min(rest.size(), kChunk));
      stream.next_out = out + got;
      stream.avail_out = static_cast<uInt>(std::min(size - got, kChunk));
      const uInt in_before = stream.avail_in, out_before = stream.avail_out;
      const int status = inflate(&stream, Z_NO_FLUSH);
      consumed += in_before - stream.avail_in;
      got += out_before - stream.avail_out;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status == Z_BUF_ERROR ||
                 (status == Z_OK && consumed == file.bytes().size() && stream.avail_out > 0)) {
        fail(fmt::format("the gzip stream is truncated at byte {} of the file", consumed));
      } else if (status != Z_OK) {
        fail(fmt::format("the gzip stream is damaged at byte {} of the file ({})", consumed,
                         stream.msg ? stream.msg : "zlib error"));
      }
    }
    return got;
  }

  /// gzip files may be concatenated; anything else after a member is garbage.
  void next_member() {
    const auto rest = file.bytes().subspan(consumed);
    if (rest.empty()) {
      stream_ended = true;
    } else if (starts_with_gzip_magic(rest)) {
      inflateReset(&stream);
    } else {
      fail(fmt::format("{} bytes of garbage follow the gzip stream, from byte {} of the file",
                       rest.size(), consumed));
    }
  }
};

InflatingFile::InflatingFile(const std::string& path, const std::string& hint)
    : state_(std::make_unique<State>(path, hint)) {
  if (!state_->gzip && path.ends_with(".gz")) {
    state_->fail("is not gzip: its first two bytes are not 1f 8b");
  }
  constexpr int kGzipWindow = 16 + MAX_WBITS;
  if (state_->gzip && inflateInit2(&state_->stream, kGzipWindow) != Z_OK) {
    throw Error(ErrorKind::kEnvironment, "zlib cannot be initialised: out of memory");
  }
}

InflatingFile::~InflatingFile() = default;

void InflatingFile::read(std::uint8_t* out, std::size_t size, const std::string& what) {
  const std::size_t got = state_->take(out, size);
  if (got < size) {
    state_->fail(
        fmt::format("ends at byte {}, {} bytes short of {}", state_->offset, size - got, what));
  }
}

void InflatingFile::expect_end() {
  std::uint8_t extra = 0;
  const std::uint64_t end = state_->offset;
  if (state_->take(&extra, 1) > 0) {
    state_->fail(fmt::format("has trailing bytes from byte {}", end));
  }
}

const std::string& InflatingFile::path() const {
  return state_->file.path();
}
bool InflatingFile::is_compressed() const {
  return state_->gzip;
}
std::uint64_t InflatingFile::offset() const {
  return state_->offset;
}

std::uint64_t InflatingFile::size_limit() const {
  const std::uint64_t size = state_->file.bytes().size();
  return state_->gzip ? size * kBestRatio : size;
}

}  // namespace lockstep::data
