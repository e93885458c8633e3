#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/system/file_descriptor.h"

namespace lockstep::launch {

/// A program to start, and its environment.
struct ProcessSpec {
  std::string program;  ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  /// "NAME=value", replacing or adding to this process's environment; the last of a name counts.
  std::vector<std::string> environment;
  std::vector<int> cpus;       ///< the only CPUs it may run on; empty = those of this process
  std::vector<int> inherited;  ///< descriptors that stay open in it, under the same number
  /// Most that it and each process it starts may allocate (RLIMIT_DATA); 0 = no limit.
  std::uint64_t data_limit = 0;
  bool separate_errors = false;  ///< stderr apart from stdout instead of in one stream
  /// Written to its standard input, which then stays open until this program ends or lets go of the
  /// process; absent = an empty input. At most a few kB.
  std::optional<std::string> input{};
  std::string title{};            ///< its name in messages; empty = by its rank
  std::string host{};             ///< where its worker runs, when that is to be one certain host
  bool events_in_output = false;  ///< lines of a record come on its standard output
  int stop_signal = 2;            ///< what asks it to stop gently (SIGINT)
  /// Its descendants die with this process too, kill -9 included, also those in other sessions.
  bool keep_descendants = false;
};

struct ExitStatus {
  int code = 0;    ///< meaningless when `signal` is not 0
  int signal = 0;  ///< the signal that killed it; 0 when it ended by itself
  bool clean() const { return code == 0 && signal == 0; }
};

/// The full path of a program in PATH, as the shell would find it.
std::optional<std::string> find_program(const std::string& name);

/// A child in its own process group, so that Ctrl-C on the terminal does not reach it; the
/// kernel kills it when the thread that started it dies. Its stdin is empty. Destroying this object
/// kills and reaps it.
class ChildProcess {
 public:
  /// Throws kEnvironment naming the program when it cannot be started.
  static ChildProcess start(const ProcessSpec& spec);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// Read ends, not blocking. `errors` is empty unless the streams are separate.
  FileDescriptor& output() { return output_; }
  FileDescriptor& errors() { return errors_; }

  /// Asks it to end in its own time: by its stop signal or, where it has an input, the line "stop".
  void ask_to_stop() const;
  /// To the whole process group. Nothing happens when the process has ended already.
  void signal(int number) const;
  /// How it ended, or nothing while it runs; does not block. Its own children that it left
  /// behind in its process group are killed.
  std::optional<ExitStatus> poll();

 private:
  ChildProcess(pid_t pid, FileDescriptor output, FileDescriptor errors);
  void reap();

  pid_t pid_ = -1;
  FileDescriptor output_;
  FileDescriptor errors_;
  FileDescriptor input_;
  int stop_signal_ = 2;
  std::optional<ExitStatus> status_;
};

}  // namespace lockstep::launch
