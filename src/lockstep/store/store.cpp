#include "lockstep/store/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/statistics.h"
#include "lockstep/store/connection.h"
#include "lockstep/store/measurement_rows.h"
#include "lockstep/store/run_summary.h"
#include "lockstep/store/writer_lock.h"

namespace lockstep::store {
/// A statement that is kept from use to use: of a study of many runs preparing them is a third of
/// the work. Reset at the end of a use: one that is under way keeps the log from being merged.
class KeptStatement {
 public:
  explicit KeptStatement(Statement& statement) : statement_(statement) {}
  ~KeptStatement() { statement_.reset(); }
  KeptStatement(const KeptStatement&) = delete;
  KeptStatement& operator=(const KeptStatement&) = delete;

  Statement* operator->() const { return &statement_; }
  Statement& operator*() const { return statement_; }

 private:
  Statement& statement_;
};

class Store::State {
 public:
  explicit State(const std::string& path) : database_(open_for_reading(path)) {}

  const std::string& path() const { return database_.path(); }

  std::vector<RunSummary> runs(const RunFilter& filter) {
    std::string sql(kSummaryQuery);
    const char* joint = " WHERE ";
    const auto condition = [&](bool wanted, const char* text) {
      if (!wanted) return;
      sql += joint;
      sql += text;
      joint = " AND ";
    };
    condition(filter.recipe.has_value(), "r.recipe = ?1");
    condition(filter.workers.has_value(), "r.workers = ?2");
    condition(filter.batch_per_worker.has_value(), "r.batch_per_worker = ?3");
    condition(filter.study.has_value(), "r.study = ?4");
    Statement rows = database_.prepare(sql + " ORDER BY r.id");
    if (filter.recipe) rows.bind(1, *filter.recipe);
    if (filter.workers) rows.bind(2, *filter.workers);
    if (filter.batch_per_worker) rows.bind(3, *filter.batch_per_worker);
    if (filter.study) rows.bind(4, *filter.study);
    std::vector<RunSummary> found;
    while (rows.step()) found.push_back(read_summary(rows, path()));
    rows.reset();
    for (RunSummary& run : found) settle_state(run);
    add_imported_rates(found);
    // Whether a run was killed follows from the lock, so SQL cannot filter by it.
    std::erase_if(
        found, [&](const RunSummary& run) { return filter.state && run.state != *filter.state; });
    return found;
  }

  StoredRun load(std::int64_t id, Steps counted) {
    StoredRun run;
    {
      static const std::string kOneSummary = std::string(kSummaryQuery) + " WHERE r.id = ?";
      const KeptStatement row = kept(kOneSummary);
      if (!row->bind(1, id).step()) throw unknown_run(id);
      run.summary = read_summary(*row, path());
    }
    settle_state(run.summary);
    read_run_row(run);
    read_epochs(run);
    read_utilisation(run);
    const KeptStatement checkpoints =
        kept("SELECT path, epoch, step FROM checkpoints WHERE run_id = ? ORDER BY id");
    for (checkpoints->bind(1, id); checkpoints->step();) {
      run.checkpoints.push_back({checkpoints->text(0), static_cast<int>(checkpoints->integer(1)),
                                 checkpoints->integer(2)});
    }
    const KeptStatement errors =
        kept("SELECT rank, kind, message, hint FROM worker_errors WHERE run_id = ? ORDER BY id");
    for (errors->bind(1, id); errors->step();) {
      run.errors.push_back({static_cast<int>(errors->integer(0)), errors->text(1), errors->text(2),
                            errors->text(3)});
    }
    if (counted == Steps::kNotCounted) return run;
    const KeptStatement steps = kept("SELECT count(*) FROM steps WHERE run_id = ?");
    if (steps->bind(1, id).step()) run.steps = steps->integer(0);
    return run;
  }

  std::optional<std::string> step_digest(std::int64_t id, std::string_view form) {
    const KeptStatement row = kept("SELECT digest FROM step_digests WHERE run_id = ? AND form = ?");
    if (!row->bind(1, id).bind(2, form).step()) return std::nullopt;
    return row->text(0);
  }

  std::vector<CurvePoint> curve(std::int64_t id) {
    const KeptStatement row =
        kept("SELECT epochs, loss, examples_per_s FROM curves WHERE run_id = ? ORDER BY position");
    row->bind(1, id);
    std::vector<CurvePoint> points;
    while (row->step()) points.push_back({row->real(0), row->real(1), row->real(2)});
    return points;
  }

  std::vector<record::Measurement> imported_measurements(std::span<const std::int64_t> ids) {
    Statement rows = database_.prepare(
        "SELECT run_id, metric, value, unit, configuration FROM measurements"
        " ORDER BY run_id, position");
    const std::set<std::int64_t> wanted(ids.begin(), ids.end());
    std::vector<record::Measurement> found;
    MeasurementReader reader;
    while (rows.step()) {
      if (wanted.empty() || wanted.contains(rows.integer(0))) {
        found.push_back(reader.read(rows));
      }
    }
    return found;
  }

  void require(std::span<const std::int64_t> ids) {
    Statement row = database_.prepare("SELECT 1 FROM runs WHERE id = ?");
    for (const std::int64_t id : ids) {
      if (!row.bind(1, id).step()) throw unknown_run(id);
      row.reset();
    }
  }

  void visit_steps(std::int64_t id, const std::function<void(const record::StepTimes&)>& visit) {
    const KeptStatement kept_rows = kept(
        "SELECT step, rank, epoch, examples, start_ns, ready_after_ns, total_ns, input_wait_ns,"
        " host_to_device_ns, forward_ns, backward_ns, comm_wait_ns, comm_transfer_ns,"
        " optimizer_ns, other_ns FROM steps WHERE run_id = ? ORDER BY step, rank");
    Statement& rows = *kept_rows;
    record::StepTimes step;
    for (rows.bind(1, id); rows.step();) {
      step.step = rows.integer(0);
      step.rank = static_cast<std::int32_t>(rows.integer(1));
      step.epoch = static_cast<std::int32_t>(rows.integer(2));
      step.examples = rows.integer(3);
      step.start_ns = rows.integer(4);
      step.ready_ns = rows.is_null(5) ? 0 : step.start_ns + rows.integer(5);
      step.total_s = static_cast<double>(rows.integer(6)) * 1e-9;
      for (int p = 0; p < record::kPhaseCount; ++p) {
        step.phase_s[static_cast<std::size_t>(p)] = static_cast<double>(rows.integer(7 + p)) * 1e-9;
      }
      visit(step);
    }
  }

  void remove(std::span<const std::int64_t> ids) {
    Database writable = open_for_changing(path());
    Transaction transaction(writable);
    Statement remove = writable.prepare("DELETE FROM runs WHERE id = ?");
    for (const std::int64_t id : ids) {
      if (has_writer(path(), id)) {
        throw Error(ErrorKind::kUsage, fmt::format("run {} is still running", id),
                    "stop it first, then delete it");
      }
      remove.bind(1, id).execute();
      if (writable.changed_rows() == 0) throw unknown_run(id);
    }
    transaction.commit();
  }

  void compact() {
    Database writable = open_for_changing(path());
    writable.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  }

 private:
  /// A run marked running that has no writer was killed, unless it ended between the query
  /// and the look at the lock: the status is committed before the lock goes, so a second look
  /// decides.
  void settle_state(RunSummary& run) {
    if (run.state != RunState::kRunning || has_writer(path(), run.id)) return;
    Statement row = database_.prepare("SELECT status FROM runs WHERE id = ?");
    if (row.bind(1, run.id).step()) {
      run.state = stored_state(row.text(0), run.id, path());
    }
    if (run.state == RunState::kRunning) run.state = RunState::kKilled;
  }

  void read_run_row(StoredRun& run) {
    const std::int64_t id = run.summary.id;
    const KeptStatement kept_row = kept(
        "SELECT machine, build, steps_per_epoch, first_epoch, status, ended_wall_ns, total_s,"
        " peak_memory_bytes, parameters_digest, energy_j, energy_source, others_cpu FROM runs "
        "WHERE id "
        "= ?");
    Statement& row = *kept_row;
    if (!row.bind(1, id).step()) throw unknown_run(id);
    run.started.spec = run.summary.spec;
    run.started.started_wall_ns = run.summary.started_wall_ns;
    run.started.machine = from_text<record::Machine>(row.text(0), id, path());
    run.started.build = from_text<record::Build>(row.text(1), id, path());
    run.started.steps_per_epoch = row.integer(2);
    run.started.first_epoch = static_cast<int>(row.integer(3));
    if (row.is_null(5)) return;
    run.ended = record::RunEnded{record::status_from_name(row.text(4)),
                                 row.integer(5),
                                 row.real(6),
                                 row.integer(7),
                                 row.text(8),
                                 row.is_null(9) ? record::kUnknown : row.real(9),
                                 row.text(10),
                                 row.is_null(11) ? record::kUnknown : row.real(11)};
  }

  /// The median over epochs without the first, as reports have it.
  void add_imported_rates(std::vector<RunSummary>& runs) {
    std::map<std::int64_t, std::vector<double>> rates;
    Statement rows = database_.prepare(
        "SELECT run_id, value FROM measurements WHERE metric = 'throughput'"
        " AND json_extract(configuration, '$.notes.warm_up') IS NULL");
    while (rows.step()) rates[rows.integer(0)].push_back(rows.real(1));
    for (RunSummary& run : runs) {
      const auto found = rates.find(run.id);
      if (found != rates.end()) run.imported_rate = median(found->second);
    }
  }

  std::map<std::string, double> metrics_of(const std::string& text, std::int64_t id) {
    return from_text<std::map<std::string, double>>(text, id, path());
  }

  void read_epochs(StoredRun& run) {
    const KeptStatement kept_rows = kept(
        "SELECT epoch, train_loss, train_accuracy, val_loss, val_accuracy, learning_rate, examples,"
        " train_s, val_s, examples_per_s, noise_scale, noise_scale_low, noise_scale_high,"
        " metrics FROM epochs WHERE run_id = ? ORDER BY epoch");
    Statement& rows = *kept_rows;
    for (rows.bind(1, run.summary.id); rows.step();) {
      run.epochs.push_back({static_cast<int>(rows.integer(0)), rows.real(1), rows.real(2),
                            rows.real(3), rows.real(4), rows.real(5), rows.integer(6), rows.real(7),
                            rows.real(8), rows.real(9), rows.real(10), rows.real(11), rows.real(12),
                            metrics_of(rows.text(13), run.summary.id)});
    }
  }

  void read_utilisation(StoredRun& run) {
    const KeptStatement kept_rows = kept(
        "SELECT rank, epoch, at_s, seconds, cpu_cores, resident_bytes, gpu, gpu_memory_bytes"
        " FROM utilisation WHERE run_id = ? ORDER BY rank, at_s");
    Statement& rows = *kept_rows;
    for (rows.bind(1, run.summary.id); rows.step();) {
      run.utilisation.push_back({static_cast<std::int32_t>(rows.integer(0)),
                                 static_cast<std::int32_t>(rows.integer(1)), rows.real(2),
                                 rows.real(3), rows.real(4), rows.integer(5), rows.real(6),
                                 rows.integer(7)});
    }
  }

  Error unknown_run(std::int64_t id) {
    Statement rows = database_.prepare("SELECT id FROM runs ORDER BY abs(id - ?) LIMIT 3");
    std::vector<std::int64_t> near;
    for (rows.bind(1, id); rows.step();) near.push_back(rows.integer(0));
    std::sort(near.begin(), near.end());
    return {ErrorKind::kData, fmt::format("no run {} in the store {}", id, path()),
            near.empty() ? "the store has no runs"
                         : fmt::format("the nearest ids are {}; lockstep runs lists all",
                                       fmt::join(near, ", "))};
  }

  KeptStatement kept(std::string_view sql) {
    auto found = statements_.find(sql);
    if (found == statements_.end()) {
      found = statements_.emplace(std::string(sql), database_.prepare(sql)).first;
    }
    return KeptStatement(found->second);
  }

  Database database_;
  std::map<std::string, Statement, std::less<>> statements_;  ///< by their text
};

Store::Store(const std::string& path) : state_(std::make_unique<State>(path)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::path() const {
  return state_->path();
}
std::vector<RunSummary> Store::runs(const RunFilter& filter) {
  return state_->runs(filter);
}
StoredRun Store::load(std::int64_t id, Steps steps) {
  return state_->load(id, steps);
}
std::optional<std::string> Store::step_digest(std::int64_t id, std::string_view form) {
  return state_->step_digest(id, form);
}
std::vector<CurvePoint> Store::curve(std::int64_t id) {
  return state_->curve(id);
}
std::vector<record::Measurement> Store::imported_measurements(std::span<const std::int64_t> ids) {
  return state_->imported_measurements(ids);
}

void Store::require(std::span<const std::int64_t> ids) {
  state_->require(ids);
}
void Store::visit_steps(std::int64_t id,
                        const std::function<void(const record::StepTimes&)>& visit) {
  state_->visit_steps(id, visit);
}
void Store::remove(std::span<const std::int64_t> ids) {
  state_->remove(ids);
}
void Store::compact() {
  state_->compact();
}

}  // namespace lockstep::store
