#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::data {

/// Reads a file from front to back, inflating it when it is gzip (by its first bytes). All failures
/// are kData and name the file; offsets count bytes of the content, after inflating.
class InflatingFile {
 public:
  /// A name that ends in .gz promises gzip.
  InflatingFile(const std::string& path, const std::string& hint);
  ~InflatingFile();

  /// Fills `out`. Throws when the content ends sooner: `what` is what was being read.
  void read(std::uint8_t* out, std::size_t size, const std::string& what);
  /// Throws when anything follows what was read.
  void expect_end();

  const std::string& path() const;
  /// Whether it is inflated.
  bool is_compressed() const;
  /// Bytes read so far.
  std::uint64_t offset() const;
  /// The content cannot be longer than this (gzip shrinks to a 1032nd at best). Ask before trusting
  /// a size that the file states.
  std::uint64_t size_limit() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::data
