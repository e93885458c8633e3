#include "lockstep/store/run_writer.h"

#include <optional>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/store/connection.h"
#include "lockstep/store/run_curve.h"
#include "lockstep/store/run_rows.h"
#include "lockstep/store/writer_lock.h"

namespace lockstep::store {
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
      throw Error(ErrorKind::kInternal, "an event arrived before the start of its run");
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
    started_id_ = insert_run(database_, label_, event);
    started_ = event;
    // Locked before the row is visible to others, which would take it for a killed run.
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
    const RunCurve::Change change = curve_.add(event);
    if (change == RunCurve::Change::kAdded) put_point(curve_.points().size() - 1);
    if (change != RunCurve::Change::kRewritten) return;
    database_.prepare("DELETE FROM curves WHERE run_id = ?").bind(1, run_id_).execute();
    for (std::size_t i = 0; i < curve_.points().size(); ++i) put_point(i);
  }

  void put_point(std::size_t position) {
    const CurvePoint& point = curve_.points()[position];
    Statement& insert = statement(points_,
                                  "INSERT INTO curves(run_id, position, epochs, loss, "
                                  "examples_per_s) VALUES(?,?,?,?,?)");
    insert.bind(1, run_id_).bind(2, static_cast<std::int64_t>(position)).bind(3, point.epochs);
    insert.bind(4, point.loss).bind(5, point.examples_per_s).execute();
  }

  void put(const record::StepBlock& block) {
    insert_steps(statement(steps_, kInsertStep), run_id_, block);
  }

  void put(const record::EpochResult& event) { insert_epoch(database_, run_id_, event); }

  void put(const record::UtilisationBlock& block) { insert_utilisation(database_, run_id_, block); }

  void put(const record::CheckpointWritten& event) {
    Statement insert =
        database_.prepare("INSERT INTO checkpoints(run_id, path, epoch, step) VALUES(?,?,?,?)");
    insert.bind(1, run_id_).bind(2, event.path).bind(3, std::int64_t{event.epoch});
    insert.bind(4, event.step).execute();
  }

  void put(const record::BucketChosen& event) {
    started_.spec.bucket_chosen = event.bytes;
    update_run(database_, run_id_, started_);
  }

  void put(const record::RunEnded& event) { end_run(database_, run_id_, event); }

  void put(const record::WorkerError& event) {
    insert_error(database_, run_id_ != 0 ? run_id_ : started_id_, event);
  }

  /// Prepared on first use and kept: steps and progress come in their thousands.
  Statement& statement(std::optional<Statement>& kept, std::string_view sql) {
    if (!kept) kept.emplace(database_.prepare(sql));
    return *kept;
  }

  RunLabel label_;
  Database database_;
  std::optional<Statement> progress_;
  std::optional<Statement> points_;
  std::optional<Statement> steps_;
  std::optional<WriterLock> lock_;
  RunCurve curve_;
  record::RunStarted started_;
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
