#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

/// Seconds of what base/duration.h reads; a bare number is seconds. Throws kUsage naming `option`
/// otherwise, and for what is not positive.
double parse_duration(const std::string& text, const std::string& option);

/// "30us,4GB/s" or "200Gbit,2us": seconds of latency and bytes/s of bandwidth, in either order.
/// Latency in ns, us, ms or s, bandwidth in MB/s, GB/s, TB/s or Mbit, Gbit, Tbit (also Gbit/s,
/// Gb/s, Gbps). Throws kUsage naming `option` otherwise.
struct LinkText {
  double latency_s = 0;
  double bytes_per_s = 0;
};
/// A text without latency has `usual_latency_s`, and is refused where that is negative.
LinkText parse_link(const std::string& text, const std::string& option = "--link",
                    double usual_latency_s = -1);

/// "312T", "19.5 TFLOP/s", "800G", "1e12" -> operations per second. Throws kUsage naming `option`
/// otherwise, and for what is not positive.
double parse_flops(const std::string& text, const std::string& option);

/// "v100=2.48/h" or "t4=0.35": price of one device per hour, by device. Throws kUsage otherwise.
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
