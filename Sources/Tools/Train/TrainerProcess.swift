internal import FoundationEssentials
internal import JSON
internal import SystemSupport

/// The Python process that trains: it runs train.py, from this folder, with TensorFlow.
final class TrainerProcess: Sendable {
    /// The request to the script; its fields are train.py's.
    struct Job: Encodable {
        /// The tensor of an input for all items: files of pictures, or numbers.
        struct Input: Encodable {
            /// The values that a batch takes: the rows of its items, those of its only item without an axis, or all.
            enum Feed: String, Encodable {
                case rows, each, whole
            }

            let name: String
            let shape: [Int]
            let feed: Feed
            var files: [String]?
            var values: [Double]?
        }

        let model: String
        let inputs: [Input]
        let ops: [String], outputs: [String]
        let epochs: Int
        /// The number of items, and of those of a batch.
        let items: Int, batch: Int
        /// True if each epoch takes the items in another order; and the seed of all orders.
        let shuffle: Bool, seed: Int
        let result: String
        /// The limits in bytes.
        let memory: Int, file_size: Int
        let log: String
    }

    /// A line of the script other than that of an epoch.
    private struct Event: Decodable {
        var done: String?
        var missing: String?
        var error: String?
    }

    private let process = PythonProcess()

    /// Ends the process, or prevents its start.
    func stop() { process.stop() }

    /// Runs the script. Blocks until it has ended.
    /// - Parameter epoch: called with the outputs of each epoch, as the members of a JSON object.
    func run(
        _ job: Job, python: String, folder: String, epoch: ([String: JSONValue]) -> Void
    ) throws(CommandError) {
        var last = Event()
        let end = try process.run(
            PackageResources.train_py, named: "train.py", job: job, python: python, folder: folder
        ) { line in
            if case .object(let members)? = try? JSONValue.parse(line), case .object(let outputs)? = members["outputs"]
            {
                epoch(outputs)
                return true
            }
            guard let event = try? JSONDecoder().decode(Event.self, from: line) else { return false }
            last = event
            return true
        }
        if last.done != nil, end.isSuccess { return }
        if let missing = last.missing {
            throw CommandError("\(python) has no package \"\(missing)\". \(Self.advice)")
        }
        if let error = last.error { throw CommandError("TensorFlow cannot train the model: \(error)") }
        throw CommandError("\(python) \(end.text): \(end.rest ?? PythonProcess.lastLine(of: job.log))")
    }

    // MARK: Which Python

    private static var environmentFolder: String { PythonProcess.environment("tensorflow") }

    /// The steps to install missing packages.
    static var advice: String {
        """
        `ocelli train` needs Python 3 with TensorFlow, in a virtual environment of its own:
          python3 -m venv \(environmentFolder)
          \(environmentFolder)/bin/pip install tensorflow-cpu
        It is found there; another one is named with --python.
        """
    }

    /// The Python to use: the named one, otherwise that of the virtual environment, otherwise the first one on the
    /// path.
    static func python(named name: String?) throws(CommandError) -> String {
        try PythonProcess.find(named: name, environment: environmentFolder, advice: advice)
    }
}
