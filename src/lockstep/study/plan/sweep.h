#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/record/choices.h"

namespace lockstep::study {

/// Batches that are climbed until memory runs out: first, first x factor, ... up to most.
struct BatchLadder {
  std::int64_t first = 0;  ///< 0 = no ladder
  std::int64_t factor = 2;
  std::int64_t most = 0;

  std::vector<std::int64_t> rungs() const;
};

/// A grid of configurations: every worker count with every batch and every strategy.
struct Sweep {
  std::vector<int> workers;
  std::vector<std::int64_t> batches;         ///< per worker, b: weak scaling
  std::vector<std::int64_t> global_batches;  ///< of all workers, B: strong scaling, b = B/N
  BatchLadder ladder;                        ///< instead of both: per worker
  std::vector<std::optional<record::Strategy>> strategies;  ///< none for other programs
  int threads = 0;                                          ///< see Cell
  int repeats = 1;
  std::uint64_t order_seed = 1;  ///< decides the order within a round
  /// All else that decides what the runs do, as text: runs of equal configuration and equal text
  /// are the same.
  std::string fixed;
};

/// One configuration of a sweep.
struct Cell {
  int workers = 1;
  std::int64_t batch_per_worker = 1;
  std::optional<record::Strategy> strategy;
  int threads = 0;     ///< per worker, where the study varies them; 0 otherwise
  std::string digest;  ///< of the configuration and the sweep's fixed text

  std::int64_t global_batch() const { return workers * batch_per_worker; }
  /// Names the cell in a store: "workers=2 batch=32 strategy=overlap #0123456789abcdef".
  std::string name() const;
};

struct PlannedRun {
  Cell cell;
  int repeat = 1;  ///< from 1
  /// Of a ladder: what its rungs have in common besides workers and strategy. Empty otherwise. A
  /// rung is only due while the smaller ones fit.
  std::string ladder{};
};

/// Whether `lower` is a smaller rung of the same ladder and repeat as `upper`.
bool is_rung_below(const PlannedRun& lower, const PlannedRun& upper);

/// Every configuration once, in the order of the lists. Throws kUsage for an empty or repeated
/// entry and for a global batch that its workers cannot share equally.
std::vector<Cell> cells_of(const Sweep& sweep);

/// Every configuration `repeats` times. Slow drift of the machine (heat, other load) must not look
/// like a difference between configurations: round r of all of them comes before round r+1 of any,
/// and each round has its own order, shuffled by the seed; rungs of a ladder go from small to
/// large. The same sweep gives the same plan.
std::vector<PlannedRun> plan_runs(const Sweep& sweep);

/// "1,2,4" -> 1, 2, 4. Throws kUsage naming `option` for other text and for numbers outside
/// [1, most].
std::vector<std::int64_t> parse_counts(std::string_view text, std::string_view option,
                                       std::int64_t most);

/// "32..x4" -> 32, 128, 512, ... up to `most`; "32..4096x4" up to 4096. Throws kUsage naming
/// `option` for other text. Text without ".." is not a ladder.
bool is_ladder(std::string_view text);
BatchLadder parse_ladder(std::string_view text, std::string_view option, std::int64_t most);

/// "a,b" -> "a", "b". Throws kUsage naming `option` when an entry is empty; with `may_be_absent` no
/// text at all gives one empty name.
std::vector<std::string> parse_names(std::string_view text, std::string_view option,
                                     bool may_be_absent = false);

}  // namespace lockstep::study
