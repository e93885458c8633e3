#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::measure {

/// Processor time of some hardware threads, in ticks of the kernel since it started.
struct CpuTicks {
  double busy = 0;  ///< includes what the host of a virtual machine gave to others ("steal")
  double all = 0;
};

/// Sums the lines of `cpus` in the text of /proc/stat; zero where they are missing.
CpuTicks cpu_ticks(std::string_view text, const std::vector<int>& cpus);

/// Measures how much of the processor time other programs use: all that was used, without what this
/// process and the children that it has waited for used. The load average is no measure of that: it
/// counts this program's own children, and a build that ended a minute ago. Not thread-safe.
class OthersMeter {
 public:
  /// Starts to measure. `cpus`: hardware threads to look at.
  explicit OthersMeter(std::vector<int> cpus);
  /// Those that this process may use.
  OthersMeter();

  /// From 0 to 1, since the start. Nothing where /proc/stat cannot be read, before 20 ticks have
  /// passed, and where a control group limits the time but not the cores: all others together may
  /// then keep the host busy without taking anything away.
  std::optional<double> share() const;

 private:
  std::vector<int> cpus_;
  CpuTicks ticks_;
  double own_s_ = 0;
};

}  // namespace lockstep::measure
