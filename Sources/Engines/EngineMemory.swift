package import EngineAPI
package import FileFormats
internal import FoundationEssentials
internal import ModelFacts
internal import Synchronization
internal import SystemSupport

/// The decisions on the engine for each file, so that a later start uses the same engine and gives the same answers.
///
/// Stored by the digest of the contents and places of the model's files, in the cache of compiled models, and in memory
/// for the lifetime of the process.
package enum EngineMemory {
    package struct Decision: Sendable, Hashable, Codable {
        let engine: EnginePreference
        let reason: String?
        /// The versions of both engines at that time, each with its build: if they have changed, the decision is made
        /// again.
        package let versions: [String]
        package let confirmation: Confirmation

        package init(
            engine: EnginePreference, reason: String?, versions: [String], confirmation: Confirmation
        ) {
            self.engine = engine
            self.reason = reason
            self.versions = versions
            self.confirmation = confirmation
        }
    }

    private static let ofThisProcess = Mutex<[String: Decision]>([:])
    private static let maximum = 10_000, largest = 64 << 10

    /// The digest of a model file, and for ONNX of the files with its weights, and the places that links lead to; nil
    /// if a file cannot be read. Blocks: reads them.
    ///
    /// OpenVINO refuses weights outside of the model's folder, ONNX Runtime only those that are not next to the link's
    /// target either: a decision on plain files does not hold for links to equal files.
    package static func digest(of path: String, format: ModelFormat) -> String? {
        var hash = ContentHash()
        guard hash.add(file: path) else { return nil }
        guard format == .onnx else { return hash.text }
        guard let file = try? OpenFile(path) else { return nil }
        let folder = FilePath.folder(of: path)
        for name in ONNXExternalFiles.names(ByteSource(count: file.size) { file.bytes($0) }).sorted() {
            hash.add(name)
            guard hash.add(file: folder + name) else { return nil }
            if let place = place(ofWeights: folder + name, model: path) { hash.add(place) }
        }
        return hash.text
    }

    /// The place of a file with weights after links are resolved, without the paths of this machine; nil if it is the
    /// folder of the model, as without links.
    private static func place(ofWeights weights: String, model: String) -> String? {
        guard let file = FilePath.resolved(weights), let target = FilePath.resolved(model),
            let folder = FilePath.resolved(FilePath.parent(of: model))
        else { return "unknown" }
        if file.hasPrefix(FilePath.start(inside: folder)) { return nil }
        return file.hasPrefix(FilePath.folder(of: target)) ? "in the folder of the link's target" : "elsewhere"
    }

    /// True if no decision is stored: then no file need be hashed to look one up.
    static func isEmpty(in folder: String?) -> Bool {
        guard ofThisProcess.withLock({ $0.isEmpty }) else { return false }
        guard let folder else { return true }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return !names.contains { $0.hasSuffix(CompiledModelCache.decision) }
    }

    /// The decision on a file; nil if no decision is stored.
    package static func decision(_ digest: String, in folder: String?) -> Decision? {
        if let known = ofThisProcess.withLock({ $0[digest] }) { return known }
        guard let folder, case .success(let data) = BundleFile.read(path(digest, folder), maximum: largest) else {
            return nil
        }
        return try? JSONDecoder().decode(Decision.self, from: data)
    }

    /// The decisions of this process, by the digest of the files.
    package static var decisions: [String: Decision] { ofThisProcess.withLock { $0 } }

    /// Adds decisions of another process.
    package static func add(_ decisions: [String: Decision]) {
        ofThisProcess.withLock { known in
            if known.count + decisions.count > maximum { known.removeAll() }
            known.merge(decisions) { $1 }
        }
    }

    /// Stores a decision. If the cache cannot be written, it is stored for this process only.
    package static func keep(_ decision: Decision, on digest: String, in folder: String?) {
        ofThisProcess.withLock { known in
            if known.count >= maximum { known.removeAll() }
            known[digest] = decision
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let folder, let data = try? encoder.encode(decision) else { return }
        try? data.write(to: URL(fileURLWithPath: path(digest, folder)), options: .atomic)
    }

    private static func path(_ digest: String, _ folder: String) -> String {
        folder + "/" + digest + CompiledModelCache.decision
    }
}
