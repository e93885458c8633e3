#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/collect/stored_runs.h"
#include "lockstep/predict/series_table.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::collect {

/// The newest run of a series' largest count; nothing if the rows are not of runs.
std::optional<std::int64_t> largest_run(std::span<const record::Measurement> rows,
                                        const predict::TableSeries& series);

/// Rates of measured series at counts that nobody ran: the step of each series' largest run is
/// simulated on more workers, and the measured rate grows as the simulated one does. Series of a
/// fixed batch per worker only: the step of another batch was not measured.
class SimulatedCounts {
 public:
  /// `settings` describe the cluster, as `lockstep simulate` has them; `engine` is asked for
  /// networks whose links are shared. Throws kUsage for settings that are wrong, kData where no
  /// series has a run with phases.
  SimulatedCounts(store::Store& store, std::span<const record::Measurement> rows,
                  std::span<const predict::TableSeries> series, const simulate::Settings& settings,
                  simulate::NetworkEngine engine);

  /// In the unit of the series, with a 90 % interval; nothing for a series that is not simulated.
  std::optional<predict::Estimate> rate(const predict::TableSeries& series, double workers);

  /// What each series was simulated from, or why it was not.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Simulated {
    simulate::Scenario scenario;
    double workers = 0;        ///< the largest measured count
    double measured_rate = 0;  ///< there
    double simulated_rate = 0;
  };

  void add(store::Store& store, std::span<const record::Measurement> rows,
           const predict::TableSeries& series, const simulate::Settings& settings);
  double simulated_rate(const simulate::SimulatedPoint& point) const;

  std::map<analyze::SeriesKey, Simulated> series_;
  std::map<std::pair<analyze::SeriesKey, double>, predict::Estimate> known_;
  std::vector<std::string> notes_;
  simulate::NetworkEngine engine_;
};

}  // namespace lockstep::collect
