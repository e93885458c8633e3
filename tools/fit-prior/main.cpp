#include <fmt/format.h>

#include <cstdio>

#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/predict/backtest.h"
#include "lockstep/predict/series_table.h"

namespace {

lockstep::predict::Backtest report(const char* what,
                                   const std::vector<lockstep::predict::LearningSeries>& series,
                                   lockstep::predict::Unseen unseen) {
  auto result = lockstep::predict::summarize_backtest(
      lockstep::predict::cross_validate_largest(series, unseen));
  fmt::print(stderr,
             "{} series, largest count held out, {}: error median {:.1f} %, mean {:.1f} %, 90th "
             "percentile {:.1f} %; interval coverage {:.1f} %, median width {:.1f} %\n",
             result.series, what, 100 * result.ours.median, 100 * result.ours.mean,
             100 * result.ours.ninetieth, 100 * result.coverage, 100 * result.median_width);
  return result;
}

}  // namespace

/// fit-prior TABLE.csv... | clang-format > src/lockstep/predict/scaling/prior_table.cpp
///
/// Learns from the scaling series of measurements tables (columns series, source and scaling
/// beside the usual ones) how series of that kind continue, and prints the numbers as C++. On
/// stderr: the result of cross-validation.
int main(int argc, char** argv) {
  using namespace lockstep;
  try {
    if (argc < 2) throw Error(ErrorKind::kUsage, "usage: fit-prior TABLE.csv...");
    std::vector<predict::LearningSeries> series;
    for (int i = 1; i < argc; ++i) {
      const auto table = import::read_measurements_file(argv[i]);
      const auto more = predict::learning_series(predict::series_of(table.rows, "series"));
      series.insert(series.end(), more.begin(), more.end());
    }
    report("unseen source, model and device", series, predict::Unseen::kGroup);
    auto prior =
        predict::fit_prior(series, fmt::format("{} published data-parallel series", series.size()));
    if (predict::can_hold_out_sources(series)) {
      prior.covered = report("unseen source", series, predict::Unseen::kSource).covered;
    }
    fmt::print("{}", predict::prior_source(prior));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}", format_error(error));
    return exit_code(error.kind());
  }
}
