#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/import/model/imported_run.h"

namespace lockstep::import {

/// The course of one run in a dict of frames as a notebook prints it:
/// `{'sgd_batch_size_512_2gpus':   global_step  epoch  _timestamp ...`. Its rows may be torn by
/// text recognition, so it serves to explain other tables of the same text, and only its last loss
/// is a figure.
struct PrintedHistory {
  std::string name;          ///< blanks, which text recognition leaves, as underscores
  std::int64_t workers = 0;  ///< from the name
  std::int64_t batch = 0;    ///< from the name
  bool whole = true;         ///< no rows were left out by pandas
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>
      epochs;                             ///< first and last time of each, seconds since 1970
  std::optional<std::int64_t> last_step;  ///< of all epochs
  std::optional<double> train_loss;       ///< last value of train_loss_epoch
  std::optional<double> unnamed_tail;     ///< that of a last column whose name was lost
};

/// Those whose names state a worker count and a batch size.
std::vector<PrintedHistory> find_histories(std::string_view text);

/// What the histories of a text show about its tables.
struct TableMeaning {
  /// The epoch whose duration the column "time" has in every row that can be checked (two at
  /// least).
  std::optional<std::int64_t> time_is_epoch;
  /// As many steps on any worker count with the same batch size: it is the batch of all workers.
  bool batch_is_global = false;
};

/// A row of a table: its time by workers and batch size.
using TableTimes = std::map<std::pair<std::int64_t, std::int64_t>, double>;

TableMeaning meaning_of(const TableTimes& times, const std::vector<PrintedHistory>& histories);

/// The last loss of a history belongs to the run of a table with its workers and batch; one that no
/// table has is a run of its own.
void add_histories(const std::vector<PrintedHistory>& histories, const TableMeaning& meaning,
                   std::vector<ImportedRun>& runs);

}  // namespace lockstep::import
