//! Prints what TT-Metal's variables of this process switch on, and what is wrong with them.

use host_reader::environment::Environment;

fn main() {
    let environment = Environment::from_process();
    println!("profiler: {}", environment.settings.profiler);
    println!("logs: {}", environment.settings.logs().display());
    println!("programs per lane: {}", environment.settings.effective_support_count());
    for problem in environment.problems {
        println!("{problem}");
    }
}

#[test]
fn a_misspelled_variable_is_named_with_the_one_that_was_meant() {
    let environment = Environment::from_variables([("TT_METAL_DEVICE_PROFILR", "1")]);
    let line = environment.problems[0].to_string();
    assert_eq!(
        line,
        "TT_METAL_DEVICE_PROFILR is not known; did you mean TT_METAL_DEVICE_PROFILER?"
    );
}
