#include "lockstep/serve/upload.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cctype>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/serve/server.h"

namespace lockstep::serve {

std::string safe_file_name(const std::string& name) {
  const std::size_t cut = name.find_last_of("/\\");
  std::string safe;
  for (const char letter : cut == std::string::npos ? name : name.substr(cut + 1)) {
    const auto c = static_cast<unsigned char>(letter);
    const bool fine =
        (c < 0x80 && std::isalnum(c) != 0) || letter == '.' || letter == '-' || letter == '_';
    safe += fine ? letter : '_';
  }
  safe.erase(0, safe.find_first_not_of('.'));
  if (safe.size() > 120) safe.erase(0, safe.size() - 120);
  return safe.empty() ? "upload" : safe;
}

Upload::Upload(std::string name, std::size_t most_bytes)
    : name_(std::move(name)), most_bytes_(most_bytes) {
  std::error_code problem;
  std::string pattern =
      (std::filesystem::temp_directory_path(problem) / "lockstep-upload-XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  if (!folder_.empty()) file_ = std::fopen(path().c_str(), "wxb");
  if (file_ != nullptr) return;
  std::filesystem::remove_all(folder_.empty() ? pattern : folder_, problem);
  throw Error(ErrorKind::kEnvironment,
              "the file cannot be stored: no temporary folder can be created",
              "set TMPDIR to a folder with free space and restart lockstep serve");
}

Upload::~Upload() {
  if (file_ != nullptr) std::fclose(file_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool Upload::write(const char* data, std::size_t size) {
  refused_ |= bytes_ + size > most_bytes_ || std::fwrite(data, 1, size, file_) != size;
  bytes_ += size;
  return !refused_;
}

void Upload::finish() {
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (refused_ || !closed) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the file is larger than {} or the disk is full",
                            format_bytes(Bytes{most_bytes_})),
                "import it on the machine itself: lockstep import FILE");
  }
  if (bytes_ == 0) throw Error(ErrorKind::kUsage, "the file is empty", "");
}

}  // namespace lockstep::serve
