/* The program that calls a Python function of an observer: `python3 -c` runs
 * its text, which needs nothing but the standard library. It answers as a
 * command that stays.
 */
#ifndef MAPREDUCE_OBSERVE_PYTHON_RUNNER_H
#define MAPREDUCE_OBSERVE_PYTHON_RUNNER_H

/* The variable "NAME=text", and the command that runs it. */
extern const char python_runner_variable[];
#define PYTHON_RUNNER_COMMAND "exec python3 -c \"$QUARRY_RUNNER\""

#endif /* MAPREDUCE_OBSERVE_PYTHON_RUNNER_H */
