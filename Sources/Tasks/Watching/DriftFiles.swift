internal import Drift
internal import FoundationEssentials
internal import Glibc
internal import Repository
internal import SystemSupport

/// The files of monitors in `state_dir`: one for each version of a model, in the folder `drift`. All functions block.
struct DriftFiles: Sendable {
    private let folder: String

    /// - Parameter stateFolder: `state_dir`.
    init(stateFolder: String) { folder = stateFolder + "/drift" }

    private func path(_ model: String, _ version: String) -> String {
        // The names have no dot of their own any more.
        "\(folder)/\(RolloutFile.fileName(of: model)).\(RolloutFile.fileName(of: version)).json"
    }

    /// Reads the files.
    /// - Parameter most: the maximum number of files.
    /// - Returns: their records, and a sentence for each file that cannot be used.
    func read(most: Int) -> (records: [DriftRecord], problems: [String]) {
        var records: [DriftRecord] = [], problems: [String] = []
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names.filter({ $0.hasSuffix(".json") && !$0.hasPrefix(".") }).sorted().prefix(most) {
            let path = folder + "/" + name
            do throws(DriftRecord.Problem) {
                let record = try DriftRecord(try Self.contents(of: path))
                guard self.path(record.model, record.version) == path else {
                    throw DriftRecord.Problem(reason: "it is the file of another model")
                }
                records.append(record)
            } catch {
                problems.append("\(path) cannot be used: \(error.reason)")
            }
        }
        return (records, problems)
    }

    private static func contents(of path: String) throws(DriftRecord.Problem) -> Data {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw DriftRecord.Problem(reason: SystemError.words(errno)) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= DriftRecord.largest
        else { throw DriftRecord.Problem(reason: "expected a file of at most \(DriftRecord.largest) bytes") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size)), filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(file, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw DriftRecord.Problem(reason: "it cannot be read") }
            filled += count
        }
        return Data(bytes)
    }

    /// Replaces a file atomically.
    /// - Returns: a sentence if it cannot be written; nil otherwise.
    func write(_ record: DriftRecord) -> String? {
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = path(record.model, record.version), code = RolloutFile.replace(path, with: record.text())
        return code == 0 ? nil : "\(path) cannot be written (state_dir): \(SystemError.words(code))"
    }

    /// Removes the file of a monitor.
    func remove(model: String, version: String) { unlink(path(model, version)) }
}
