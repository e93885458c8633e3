#include "lockstep/launch/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "lockstep-run-";
constexpr char kLockName[] = "owner.lock";
/// Between making a folder and locking it, it looks abandoned; so only older ones count.
constexpr std::time_t kLeastAgeSeconds = 60;

bool is_abandoned(const fs::path& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return false;
  if (facts.st_uid != ::geteuid() || facts.st_mtime > std::time(nullptr) - kLeastAgeSeconds) {
    return false;
  }
  const FileDescriptor lock(::open((folder / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
    const fs::path folder = entry->path();
    if (!folder.filename().string().starts_with(kPrefix)) continue;
    std::error_code failure;
    if (is_abandoned(folder)) fs::remove_all(folder, failure);
  }
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& parent) {
  remove_abandoned(parent);
  std::string name = (parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("cannot create a folder in {}: {}", parent.string(), std::strerror(errno)),
        "set TMPDIR to a folder you can write to");
  }
  path_ = name;
  lock_ = FileDescriptor(::open((path_ / kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock_) ::flock(lock_.get(), LOCK_EX | LOCK_NB);
}

RunDirectory::~RunDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace lockstep::launch
