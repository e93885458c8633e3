#include "lockstep/store/run_rows.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep::store {
namespace {

std::string json_text(const auto& record) {
  return nlohmann::json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

}  // namespace

std::int64_t insert_run(Database& database, const RunLabel& label,
                        const record::RunStarted& event) {
  Statement insert = database.prepare(
      "INSERT INTO runs(study, cell, repeat, recipe, dataset, device, strategy, workers,"
      " batch_per_worker, global_batch, status, started_wall_ns, steps_per_epoch, first_epoch,"
      " spec, machine, build) VALUES(?,?,?,?,?,?,?,?,?,?,'running',?,?,?,?,?,?)");
  const record::RunSpec& spec = event.spec;
  insert.bind(1, label.study).bind(2, label.cell).bind(3, std::int64_t{label.repeat});
  insert.bind(4, spec.recipe).bind(5, spec.data.name).bind(6, spec.device);
  insert.bind(7, record::name_of(spec.strategy)).bind(8, std::int64_t{spec.workers});
  insert.bind(9, spec.batch_per_worker).bind(10, spec.global_batch());
  insert.bind(11, event.started_wall_ns).bind(12, event.steps_per_epoch);
  insert.bind(13, std::int64_t{event.first_epoch}).bind(14, json_text(spec));
  insert.bind(15, json_text(event.machine)).bind(16, json_text(event.build));
  insert.execute();
  return database.last_row_id();
}

void update_run(Database& database, std::int64_t run, const record::RunStarted& event) {
  Statement update = database.prepare(
      "UPDATE runs SET recipe=?, dataset=?, device=?, workers=?, batch_per_worker=?,"
      " global_batch=?, steps_per_epoch=?, first_epoch=?, spec=?, build=? WHERE id=?");
  const record::RunSpec& spec = event.spec;
  update.bind(1, spec.recipe).bind(2, spec.data.name).bind(3, spec.device);
  update.bind(4, std::int64_t{spec.workers}).bind(5, spec.batch_per_worker);
  update.bind(6, spec.global_batch()).bind(7, event.steps_per_epoch);
  update.bind(8, std::int64_t{event.first_epoch}).bind(9, json_text(spec));
  update.bind(10, json_text(event.build)).bind(11, run);
  update.execute();
}

void insert_epoch(Database& database, std::int64_t run, const record::EpochResult& event) {
  Statement insert = database.prepare(
      "INSERT OR REPLACE INTO epochs(run_id, epoch, train_loss, train_accuracy, val_loss,"
      " val_accuracy, learning_rate, examples, train_s, val_s, examples_per_s, noise_scale,"
      " noise_scale_low, noise_scale_high, metrics) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  insert.bind(1, run).bind(2, std::int64_t{event.epoch});
  insert.bind(3, event.train_loss).bind(4, event.train_accuracy);
  insert.bind(5, event.val_loss).bind(6, event.val_accuracy).bind(7, event.learning_rate);
  insert.bind(8, event.examples).bind(9, event.train_s).bind(10, event.val_s);
  insert.bind(11, event.examples_per_s).bind(12, event.noise_scale);
  insert.bind(13, event.noise_scale_low).bind(14, event.noise_scale_high);
  insert.bind(15, json_text(event.metrics));
  insert.execute();
}

void insert_utilisation(Database& database, std::int64_t run,
                        const record::UtilisationBlock& block) {
  Statement insert = database.prepare(
      "INSERT INTO utilisation(run_id, rank, epoch, at_s, seconds, cpu_cores, resident_bytes, gpu,"
      " gpu_memory_bytes) VALUES(?,?,?,?,?,?,?,?,?)");
  for (const record::Utilisation& sample : block.samples) {
    insert.bind(1, run).bind(2, std::int64_t{sample.rank}).bind(3, std::int64_t{sample.epoch});
    insert.bind(4, sample.at_s).bind(5, sample.seconds).bind(6, sample.cpu_cores);
    insert.bind(7, sample.resident_bytes).bind(8, sample.gpu).bind(9, sample.gpu_memory_bytes);
    insert.execute();
  }
}

void insert_steps(Statement& insert, std::int64_t run, const record::StepBlock& block) {
  for (const record::StepTimes& step : block.steps) {
    insert.bind(1, run).bind(2, step.step).bind(3, std::int64_t{step.rank});
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

void insert_error(Database& database, std::int64_t run, const record::WorkerError& event) {
  Statement insert = database.prepare(
      "INSERT INTO worker_errors(run_id, rank, kind, message, hint) VALUES(?,?,?,?,?)");
  insert.bind(1, run).bind(2, std::int64_t{event.rank});
  insert.bind(3, event.kind).bind(4, event.message).bind(5, event.hint);
  insert.execute();
}

void end_run(Database& database, std::int64_t run, const record::RunEnded& event) {
  Statement update = database.prepare(
      "UPDATE runs SET status=?, ended_wall_ns=?, total_s=?, peak_memory_bytes=?,"
      " parameters_digest=?, energy_j=?, energy_source=?, others_cpu=? WHERE id=?");
  update.bind(1, record::status_name(event.status)).bind(2, event.ended_wall_ns);
  update.bind(3, event.total_s).bind(4, event.peak_memory_bytes);
  update.bind(5, event.parameters_digest).bind(6, event.energy_j).bind(7, event.energy_source);
  update.bind(8, event.others_cpu).bind(9, run);
  update.execute();
}

}  // namespace lockstep::store
