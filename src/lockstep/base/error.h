#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep {

/// What went wrong, as far as the caller can act on it. `main` maps a kind to an exit code.
enum class ErrorKind {
  kUsage,        ///< the command line or a plan asks for something impossible
  kEnvironment,  ///< the machine lacks something: package, right, disk space, core
  kData,         ///< an input file or a store is wrong
  kPeer,         ///< another rank died, hung or disagreed
  kWorker,       ///< a worker process failed
  kMemory,       ///< a worker ran out of the memory it may use: a result of a batch ladder
  kInterrupted,  ///< the user asked to stop
  kInternal,     ///< a bug of ours
};

/// The one exception type of the project. `message` states what and where, `hint` what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = "");

  ErrorKind kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Process exit code of a kind: 2 usage, 3 environment, 4 data, 5 worker or peer, 6 out of memory,
/// 70 internal, 130 interrupted.
int exit_code(ErrorKind kind);

/// "usage", "environment", ...; `kind_from_name` is the inverse and gives kInternal for other text.
std::string_view kind_name(ErrorKind kind);
ErrorKind kind_from_name(std::string_view name);

/// "error: message\nhint: hint\n", as every program of the project prints it.
std::string format_error(const Error& error);

}  // namespace lockstep
