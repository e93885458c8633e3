#include "lockstep/store/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/error.h"

namespace lockstep::store {
namespace {

std::string lock_path(const std::string& store_path) {
  return store_path + "-writers";
}

struct flock byte_lock(std::int64_t run_id) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = run_id;
  lock.l_len = 1;
  return lock;
}

}  // namespace

WriterLock::WriterLock(const std::string& store_path, std::int64_t run_id) {
  const std::string path = lock_path(store_path);
  // Closed on exec: workers that this process starts must not keep the run alive after it.
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw Error(ErrorKind::kData,
                fmt::format("cannot create {} next to the store: {}", path, std::strerror(errno)),
                "grant write permission on its folder, or choose another store with --store");
  }
  struct flock lock = byte_lock(run_id);
  // Locks of the open file, not of the process: unaffected by other descriptors of the same file.
  if (::fcntl(file_, F_OFD_SETLK, &lock) != 0) {
    const int problem = errno;
    ::close(file_);
    throw Error(ErrorKind::kInternal,
                fmt::format("cannot lock run {} in {}: {}", run_id, path, std::strerror(problem)));
  }
}

WriterLock::~WriterLock() {
  ::close(file_);
}

bool has_writer(const std::string& store_path, std::int64_t run_id) {
  const int file = ::open(lock_path(store_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock = byte_lock(run_id);
  const bool held = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return held;
}

}  // namespace lockstep::store
