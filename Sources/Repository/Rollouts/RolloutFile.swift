package import Bundles
internal import EngineAPI
internal import FoundationEssentials
internal import Glibc
internal import JSON
package import Rollout
internal import SystemSupport

/// The file of a model's rollout: rollout.json next to its numbered versions, or, if that folder is not writable, a
/// file in the folder `state_dir`. All functions block.
///
/// A file in `state_dir` is valid as long as the file next to the versions is the one that it replaced: if an operator
/// writes another one, that one is used. Its list of rolled-back versions is valid in any case.
package struct RolloutFile: Sendable, Hashable {
    static let name = "rollout.json"
    /// The maximum size of the file in bytes.
    private static let largest = 1 << 20

    /// The path of the file next to the versions; nil for a model without numbered versions.
    let beside: String?
    /// The path of the file in `state_dir`; nil if that is not set.
    let kept: String?
    /// The places that the file next to the versions may lead to, if it is a link.
    private let links: LinkPolicy

    /// - Parameters:
    ///   - place: the folder of the numbered versions; nil for a model without them.
    ///   - stateFolder: `state_dir`; nil if not set.
    package init(model: String, place: String?, stateFolder: String?, links: LinkPolicy = .anywhere) {
        self.links = links
        beside = place.map { $0 + "/" + Self.name }
        kept = stateFolder.map { "\($0)/rollouts/\(Self.fileName(of: model)).json" }
    }

    /// Converts a model's name to a file name: each byte other than letters, digits, `-` and `_` becomes `%` and two
    /// hexadecimal digits.
    package static func fileName(of model: String) -> String {
        var text = ""
        for byte in model.utf8 {
            let isPlain = (48...57).contains(byte) || (65...90).contains(byte & 0xDF) || byte == 0x2D || byte == 0x5F
            let digits = String(byte, radix: 16)
            text += isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.count < 2 ? "0" : "") + digits
        }
        return text
    }

    /// The reason the file cannot be used, as a sentence.
    package struct Problem: Error, Sendable, Hashable {
        package let message: String
    }

    /// A problem as clients see it: the paths of the folders are for the log only.
    func shown(_ problem: Problem) -> String {
        [beside, kept].compactMap { $0 }.reduce(problem.message) { $0.replacing($1, with: Self.name) }
    }

    // MARK: Reading

    /// Reads the valid rollout; nil if no file exists.
    package func read() -> Result<RolloutMachine.Record?, Problem> {
        Result { () throws(Problem) in
            let written = try readNextToVersions()
            var rolledBack: [String] = []
            if let kept, let data = try Self.contents(of: kept) {
                let (record, over) = try Self.record(data, at: kept)
                if over == Self.digest(of: written) { return record }
                rolledBack = record.rolledBack
            }
            var record: RolloutMachine.Record?
            if let beside, let written { record = try Self.record(written, at: beside).record }
            guard !rolledBack.isEmpty else { return record }
            var whole = record ?? RolloutMachine.Record()
            whole.remember(rolledBack)
            return whole
        }
    }

    private static func digest(of contents: Data?) -> String {
        contents.map { SHA256.text(SHA256.digest([UInt8]($0))) } ?? "none"
    }

    /// The contents of the file next to the versions; nil if it does not exist. A link that leads out of the model
    /// folders is not followed.
    private func readNextToVersions() throws(Problem) -> Data? {
        guard let beside else { return nil }
        guard links.admitting(beside).allows(beside) else { throw Problem(message: "\(beside) \(LinkPolicy.problem)") }
        return try Self.contents(of: beside)
    }

    private static func contents(of path: String) throws(Problem) -> Data? {
        var status = stat()
        if stat(path, &status) != 0, FileFailure(code: errno).isAbsence { return nil }
        switch BundleFile.read(path, maximum: largest) {
        case .success(let data): return data
        case .failure(let problem): throw Problem(message: "\(path) \(problem.reason)")
        }
    }

    private static func record(
        _ data: Data, at path: String
    ) throws(Problem) -> (record: RolloutMachine.Record, over: String?) {
        let value: JSONValue
        do throws(JSONTextError) {
            value = try JSONValue.parse(data)
        } catch {
            throw Problem(message: "\(path) is not JSON: \(error.reason)")
        }
        do throws(RolloutPlan.Problem) {
            var over: String?
            if case .object(let members) = value, case .string(let text)? = members["over"] { over = text }
            return (try RolloutMachine.Record(value), over)
        } catch {
            throw Problem(message: "\(path): \(error.message)")
        }
    }

    // MARK: Writing

    /// Replaces the file atomically: after a crash either the old or the new one exists.
    package func write(_ record: RolloutMachine.Record) throws(Problem) {
        var obstacle: String?
        if let beside {
            let code = Self.replace(beside, with: record.text())
            guard code != 0 else {
                // The new file contains the rolled-back versions and which are good again; the file in `state_dir` is
                // obsolete.
                if let kept { unlink(kept) }
                return
            }
            obstacle = "\(beside) cannot be written: \(FileFailure(code: code).reason)"
            // Only if the folder is not writable: on a full disk the previous file remains valid.
            guard [EACCES, EPERM, EROFS].contains(code) else { throw Problem(message: obstacle ?? "") }
        }
        guard let kept else {
            throw Problem(
                message: (obstacle ?? "the model has no folder of numbered versions for rollout.json")
                    + ", and no folder for data of the daemon is set (state_dir)")
        }
        let written = try readNextToVersions()
        let folder = FilePath.parent(of: kept)
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let code = Self.replace(kept, with: record.text(over: Self.digest(of: written)))
        guard code == 0 else {
            throw Problem(
                message: [obstacle, "\(kept) cannot be written (state_dir): \(FileFailure(code: code).reason)"]
                    .compactMap { $0 }.joined(separator: ", and "))
        }
    }

    /// Replaces a file of the daemon's state atomically and durably. Blocks.
    /// - Returns: 0 if the file was written, otherwise an errno(3).
    package static func replace(_ path: String, with text: [UInt8]) -> Int32 {
        let folder = FilePath.parent(of: path)
        // The scanner skips hidden names.
        let work = "\(folder)/.\(FilePath.name(of: path) ?? name).\(getpid()).new"
        let file = open(work, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard file >= 0 else { return errno }
        var code: Int32 = 0
        var rest = text[...]
        while !rest.isEmpty, code == 0 {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { code = count == 0 ? EIO : errno }
        }
        if code == 0 { code = DiskSync.file(file) }
        close(file)
        if code == 0, rename(work, path) != 0 { code = errno }
        guard code == 0 else {
            unlink(work)
            return code
        }
        // The rename is durable only after the folder has been synced.
        return DiskSync.folder(folder)
    }
}
