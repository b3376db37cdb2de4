internal import FoundationEssentials
internal import SystemSupport

/// The Python process that quantizes: it runs quantize.py, from this folder, with NNCF.
package final class QuantizerProcess: Sendable {
    /// The request to the script; its fields are quantize.py's.
    struct Job: Encodable {
        let model: String
        let calibration: [String], validation: [String]
        let output: String?
        let at_least: Double?
        let most_layers: Int
        let result: String
        let log: String
    }

    /// The result of the script.
    package struct Outcome: Decodable, Sendable {
        /// The number of convolutions and matrix products, and the names of those that stay in float.
        package let layers: Int
        package let float: [String]
        /// The versions of the libraries.
        package let nncf: String, openvino: String

        package init(layers: Int, float: [String], nncf: String, openvino: String) {
            self.layers = layers
            self.float = float
            self.nncf = nncf
            self.openvino = openvino
        }
    }

    /// A line of the script.
    private struct Event: Decodable {
        var step: String?
        var done: Outcome?
        var missing: String?
        var error: String?
    }

    private let process = PythonProcess()

    /// Ends the process, or prevents its start.
    func stop() { process.stop() }

    /// Runs the script. Blocks until it has ended.
    /// - Parameters:
    ///   - folder: the folder for the job and the script.
    ///   - step: called with a description of the current step.
    func run(
        _ job: Job, python: String, folder: String, step: (String) -> Void
    ) throws(CommandError) -> Outcome {
        var last = Event()
        let end = try process.run(
            PackageResources.quantize_py, named: "quantize.py", job: job, python: python, folder: folder
        ) { line in
            guard let event = try? JSONDecoder().decode(Event.self, from: line) else { return false }
            if let text = event.step { step(text) } else { last = event }
            return true
        }
        if let done = last.done, end.isSuccess { return done }
        if let missing = last.missing {
            throw CommandError("\(python) has no package \"\(missing)\". \(Self.advice)")
        }
        if let error = last.error { throw CommandError("NNCF cannot quantize the model: \(error)") }
        throw CommandError("\(python) \(end.text): \(end.rest ?? PythonProcess.lastLine(of: job.log))")
    }

    // MARK: Which Python

    /// The folder of the virtual environment.
    static var environmentFolder: String { PythonProcess.environment("nncf") }

    /// The steps to install missing packages.
    static var advice: String {
        """
        `ocelli quantize` needs Python 3 with NNCF and OpenVINO, in a virtual environment of its own:
          python3 -m venv \(environmentFolder)
          \(environmentFolder)/bin/pip install nncf openvino
        It is found there; another one is named with --python.
        """
    }

    /// The Python to use: the named one, otherwise that of the virtual environment, otherwise the first one on the
    /// path.
    static func python(named name: String?) throws(CommandError) -> String {
        try PythonProcess.find(named: name, environment: environmentFolder, advice: advice)
    }
}
