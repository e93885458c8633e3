#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// "90s", "30min", "2h", "1.5 h", "3d" -> seconds; a bare number is seconds. Throws kUsage naming
/// `option` otherwise, and for what is not positive.
double parse_duration(const std::string& text, const std::string& option);

/// "30us,4GB/s": seconds of latency and bytes/s of bandwidth. Latency in ns, us or ms, bandwidth in
/// MB/s, GB/s, Mbit/s or Gbit/s. Throws kUsage otherwise.
struct LinkText {
  double latency_s = 0;
  double bytes_per_s = 0;
};
LinkText parse_link(const std::string& text);

/// "v100=2.48/h" or "t4=0.35": price of one device an hour, by device. Throws kUsage otherwise.
std::map<std::string, double> parse_prices(const std::vector<std::string>& texts);

/// "val_accuracy=0.9": a metric and the value to reach.
struct Target {
  std::string metric;
  double value = 0;

  /// Accuracies are to be reached from below, losses from above.
  bool reached_by(double measured) const;
};

/// Throws kUsage for another form or a metric that is neither an accuracy nor a loss.
Target parse_target(const std::string& text);

}  // namespace lockstep
