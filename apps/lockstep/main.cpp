#include "command_line/command.h"
#include "command_line/command_line.h"

/// `lockstep`: starts training runs and makes sense of them. Links no LibTorch, so that it starts
/// in milliseconds and builds anywhere; the training itself happens in lockstep-worker processes.
int main(int argc, char** argv) {
  using namespace lockstep::cli;
  return run_command_line(
      argc, argv,
      {{"Measure",
        {add_run_command, add_study_command, add_train_command, add_import_command,
         add_bench_command}},
       {"Understand",
        {add_report_command, add_serve_command, add_audit_command, add_runs_command,
         add_export_command}},
       {"Decide", {add_advise_command, add_predict_command, add_simulate_command}},
       {"Get started", {add_demo_command, add_doctor_command, add_completion_command}}});
}
