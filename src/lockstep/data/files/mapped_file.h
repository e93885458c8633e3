#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep::data {

/// A whole file, mapped read-only. Throws kData when it is missing, is not a regular file, may not
/// be read or is empty; `hint` is for the error message.
class MappedFile {
 public:
  explicit MappedFile(std::string path, const std::string& hint = "");
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }

 private:
  std::string path_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lockstep::data
