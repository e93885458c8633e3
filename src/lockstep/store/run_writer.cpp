#include "lockstep/store/run_writer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/store/connection.h"
#include "lockstep/store/writer_lock.h"

namespace lockstep::store {
namespace {

std::string json_text(const auto& record) {
  return nlohmann::json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

}  // namespace

class RunWriter::State {
 public:
  State(const std::string& path, RunLabel label)
      : label_(std::move(label)), database_(open_for_writing(path)) {}

  std::int64_t run_id() const { return run_id_; }

  void write(const record::Event& event) {
    const auto* error = std::get_if<record::WorkerError>(&event);
    if (run_id_ == 0 && error != nullptr) {
      early_errors_.push_back(*error);
      return;
    }
    if (run_id_ == 0 && !std::holds_alternative<record::RunStarted>(event)) {
      throw Error(ErrorKind::kInternal, "an event of a run came before its start");
    }
    Transaction transaction(database_);
    std::visit([&](const auto& e) { put(e); }, event);
    transaction.commit();
    if (std::holds_alternative<record::RunStarted>(event)) run_id_ = started_id_;
    if (std::holds_alternative<record::RunEnded>(event)) lock_.reset();
  }

 private:
  void put(const record::RunStarted& event) {
    if (run_id_ != 0) throw Error(ErrorKind::kInternal, "a run was started twice");
    lock_.reset();
    Statement insert = database_.prepare(
        "INSERT INTO runs(study, cell, repeat, recipe, dataset, device, strategy, workers,"
        " batch_per_worker, global_batch, status, started_wall_ns, steps_per_epoch, first_epoch,"
        " spec, machine, build) VALUES(?,?,?,?,?,?,?,?,?,?,'running',?,?,?,?,?,?)");
    const record::RunSpec& spec = event.spec;
    insert.bind(1, label_.study).bind(2, label_.cell).bind(3, std::int64_t{label_.repeat});
    insert.bind(4, spec.recipe).bind(5, spec.data.name).bind(6, spec.device);
    insert.bind(7, spec.strategy).bind(8, std::int64_t{spec.workers});
    insert.bind(9, spec.batch_per_worker).bind(10, spec.global_batch());
    insert.bind(11, event.started_wall_ns).bind(12, event.steps_per_epoch);
    insert.bind(13, std::int64_t{event.first_epoch}).bind(14, json_text(spec));
    insert.bind(15, json_text(event.machine)).bind(16, json_text(event.build));
    insert.execute();
    started_id_ = database_.last_row_id();
    // Locked before the row is visible to others, who would take it for a killed run.
    lock_.emplace(database_.path(), started_id_);
    for (const record::WorkerError& error : early_errors_) put(error);
  }

  void put(const record::Progress& event) {
    Statement& insert = statement(progress_,
                                  "INSERT OR REPLACE INTO progress(run_id, epoch, step, "
                                  "steps_per_epoch, examples_per_s, loss)"
                                  " VALUES(?,?,?,?,?,?)");
    insert.bind(1, run_id_).bind(2, std::int64_t{event.epoch}).bind(3, event.step);
    insert.bind(4, event.steps_per_epoch).bind(5, event.examples_per_s).bind(6, event.loss);
    insert.execute();
  }

  void put(const record::StepBlock& block) {
    Statement& insert = statement(
        steps_,
        "INSERT OR REPLACE INTO steps(run_id, step, rank, epoch, examples, start_ns,"
        " ready_after_ns, total_ns, input_wait_ns, host_to_device_ns, forward_ns, backward_ns,"
        " comm_wait_ns, comm_transfer_ns, optimizer_ns, other_ns)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (const record::StepTimes& step : block.steps) {
      insert.bind(1, run_id_).bind(2, step.step).bind(3, std::int64_t{step.rank});
      insert.bind(4, std::int64_t{step.epoch}).bind(5, step.examples).bind(6, step.start_ns);
      if (step.ready_ns == 0) {
        insert.bind_null(7);
      } else {
        insert.bind(7, step.ready_ns - step.start_ns);
      }
      insert.bind(8, nanoseconds(step.total_s));
      for (int p = 0; p < record::kPhaseCount; ++p) {
        insert.bind(9 + p, nanoseconds(step.phase_s[static_cast<std::size_t>(p)]));
      }
      insert.execute();
    }
  }

  void put(const record::EpochResult& event) {
    Statement insert = database_.prepare(
        "INSERT OR REPLACE INTO epochs(run_id, epoch, train_loss, train_accuracy, val_loss,"
        " val_accuracy, learning_rate, examples, train_s, val_s, examples_per_s)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?)");
    insert.bind(1, run_id_).bind(2, std::int64_t{event.epoch});
    insert.bind(3, event.train_loss).bind(4, event.train_accuracy);
    insert.bind(5, event.val_loss).bind(6, event.val_accuracy).bind(7, event.learning_rate);
    insert.bind(8, event.examples).bind(9, event.train_s).bind(10, event.val_s);
    insert.bind(11, event.examples_per_s);
    insert.execute();
  }

  void put(const record::CheckpointWritten& event) {
    Statement insert =
        database_.prepare("INSERT INTO checkpoints(run_id, path, epoch, step) VALUES(?,?,?,?)");
    insert.bind(1, run_id_).bind(2, event.path).bind(3, std::int64_t{event.epoch});
    insert.bind(4, event.step).execute();
  }

  void put(const record::RunEnded& event) {
    Statement update = database_.prepare(
        "UPDATE runs SET status=?, ended_wall_ns=?, total_s=?, peak_memory_bytes=?,"
        " parameters_digest=? WHERE id=?");
    update.bind(1, record::status_name(event.status)).bind(2, event.ended_wall_ns);
    update.bind(3, event.total_s).bind(4, event.peak_memory_bytes);
    update.bind(5, event.parameters_digest).bind(6, run_id_);
    update.execute();
  }

  void put(const record::WorkerError& event) {
    Statement insert = database_.prepare(
        "INSERT INTO worker_errors(run_id, rank, kind, message, hint) VALUES(?,?,?,?,?)");
    insert.bind(1, run_id_ != 0 ? run_id_ : started_id_).bind(2, std::int64_t{event.rank});
    insert.bind(3, event.kind).bind(4, event.message).bind(5, event.hint);
    insert.execute();
  }

  /// Prepared on first use and kept: steps and progress come in their thousands.
  Statement& statement(std::optional<Statement>& kept, std::string_view sql) {
    if (!kept) kept.emplace(database_.prepare(sql));
    return *kept;
  }

  RunLabel label_;
  Database database_;
  std::optional<Statement> progress_;
  std::optional<Statement> steps_;
  std::optional<WriterLock> lock_;
  std::vector<record::WorkerError> early_errors_;
  std::int64_t started_id_ = 0;
  std::int64_t run_id_ = 0;
};

RunWriter::RunWriter(const std::string& store_path, RunLabel label)
    : state_(std::make_unique<State>(store_path, std::move(label))) {}
RunWriter::~RunWriter() = default;
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;

void RunWriter::write(const record::Event& event) {
  state_->write(event);
}
std::int64_t RunWriter::run_id() const {
  return state_->run_id();
}

}  // namespace lockstep::store
