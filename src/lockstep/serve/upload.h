#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace lockstep::serve {

/// A file that a client sends, kept in a temporary folder until this object is destroyed.
class Upload {
 public:
  /// Throws kEnvironment when there is no room for temporary files.
  Upload(std::string name, std::size_t most_bytes);
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  const std::string& name() const { return name_; }
  std::string path() const { return folder_ + "/" + name_; }

  /// False when the file is too large or the disk is full.
  bool write(const char* data, std::size_t size);
  /// Throws kUsage for a file that was refused and kData for an empty one.
  void finish();

 private:
  std::string name_;
  std::size_t most_bytes_;
  std::string folder_;
  std::FILE* file_ = nullptr;
  std::size_t bytes_ = 0;
  bool refused_ = false;
};

}  // namespace lockstep::serve
