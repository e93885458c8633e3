#include "lockstep/comm/rendezvous/job_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/base/system/random_bytes.h"
#include "lockstep/record/worker_environment.h"

namespace lockstep::comm {
namespace {

namespace environment = record::worker_environment;

namespace fs = std::filesystem;

using Key = std::array<std::byte, 32>;

[[noreturn]] void refuse_secret(const fs::path& path, const std::string& problem) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("this run has no secret: {}: {}", path.string(), problem),
              "set LOCKSTEP_SECRET to the same random text on every rank");
}

fs::path secret_path(const GetEnvironment& get) {
  if (const char* folder = get("XDG_CONFIG_HOME")) return fs::path(folder) / "lockstep" / "secret";
  if (const char* home = get("HOME")) return fs::path(home) / ".config" / "lockstep" / "secret";
  refuse_secret("secret", "neither HOME nor XDG_CONFIG_HOME is set");
}

/// Ranks of several hosts may do this at once: link() lets exactly one of their files win.
void make_secret(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  Key key{};
  fill_random(key);
  // A unique name; containers may share host names and process ids.
  std::string fresh = path.string() + ".XXXXXX";
  FileDescriptor file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) refuse_secret(fresh, std::strerror(errno));
  const bool whole =
      ::write(file.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size());
  file.reset();
  const bool linked = whole && (::link(fresh.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int problem = errno;
  ::unlink(fresh.c_str());
  if (!linked) refuse_secret(path, std::strerror(problem));
}

Key read_secret(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse_secret(path, std::strerror(errno));
  Key key{};
  struct stat facts {};
  const bool known = ::fstat(file.get(), &facts) == 0;
  const bool whole = ::read(file.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size());
  if (known && (facts.st_mode & 077) != 0)
    refuse_secret(path, "other users can read it (chmod 600)");
  if (!whole) refuse_secret(path, "it is too short; delete it");
  return key;
}

}  // namespace

JobSecret job_secret(const GetEnvironment& get, const std::string& job) {
  const std::span<const std::byte> message = std::as_bytes(std::span(job));
  if (const char* given = get(environment::kSecret); given != nullptr && *given != '\0') {
    return compute_mac(std::as_bytes(std::span(std::string_view(given))), message);
  }
  const fs::path path = secret_path(get);
  if (::access(path.c_str(), F_OK) != 0) make_secret(path);
  return compute_mac(read_secret(path), message);
}

}  // namespace lockstep::comm
