internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import SystemSupport

/// Versions of models that updates have made. They lie in a folder of their own, and never among the models' own files.
extension ModelRepository {
    /// The version that an update goes on from: the one that answers.
    package struct UpdateSource: Sendable {
        package let name: String
        package let version: String
        /// The bundle or file.
        package let path: String
    }

    /// What an update of a model goes on from.
    package func updateSource(of name: String) throws(InferenceError) -> UpdateSource {
        _ = try highest(of: name)
        let ascending = versions(of: name).sorted { $0.order < $1.order }
        guard let index = VersionSituation.answering(ascending.map(\.situation)), ascending.indices.contains(index) else {
            throw .modelNotReady(name: name, reason: "no version of it answers")
        }
        let item = ascending[index]
        return UpdateSource(name: name, version: item.version, path: item.path)
    }

    /// What updates may keep: versions of each model, and bytes of all.
    package struct UpdateLimits: Sendable {
        package let versions: Int
        package let bytes: Int

        package init(versions: Int, bytes: Int) { (self.versions, self.bytes) = (versions, bytes) }
    }

    /// Loads what an update of a version needs.
    package func updater(for source: UpdateSource) async throws(UpdateError) -> ModelUpdater {
        do throws(UpdateError) {
            return try await ModelUpdater.load(source.path, configuration)
        } catch {
            throw error.prefixed("model \"\(source.name)\" ")
        }
    }

    /// Keeps the result of an update as a new version, loads it, and serves it from now on.
    /// - Returns: the version.
    package func serve(
        _ outcome: ModelUpdater.Outcome, of source: UpdateSource, by updater: ModelUpdater, _ limits: UpdateLimits
    ) async throws(UpdateError) -> String {
        let isBundle = updater.file.hasPrefix(source.path + "/")
        let file = isBundle ? String(updater.file.dropFirst(source.path.count + 1))
            : updater.file.split(separator: "/").last.map(String.init) ?? "model.mlmodel"
        let kept = await LoaderThread.run { [self] () -> Result<String, UpdateError> in
            do throws(UpdateError) {
                return .success(try keep(outcome.bytes, updateOf: source, file: file, limits))
            } catch {
                return .failure(error)
            }
        }
        let version = try kept.get()
        do throws(InferenceError) {
            _ = try await model(named: source.name, version: version)
            return version
        } catch {
            await LoaderThread.run { [self] in dropUpdate(version, of: source.name) }
            throw .inference(error)
        }
    }

    /// Keeps the result of an update as a new version, and drops the oldest of the updates beyond the limit. Writes files and reads the
    /// folders: blocks.
    /// - Parameters:
    ///   - source: what was updated.
    ///   - file: the name of the model file within its bundle.
    /// - Returns: the version; it is not loaded yet.
    private func keep(
        _ bytes: [UInt8], updateOf source: UpdateSource, file: String, _ limits: UpdateLimits
    ) throws(UpdateError) -> String {
        guard let folder = updatesFolder else { throw .failed("there is no folder for updates (taught_dir)") }
        let place = folder + "/" + source.name
        let kept = (try? FolderReader.disk.names(place)) ?? []
        let base = kept.contains(source.version) ? UpdatedVersion(source.version)?.base ?? source.version : source.version
        let numbers = kept.compactMap(UpdatedVersion.init).filter { $0.base == base }.map(\.number)
        let (number, overflow) = (numbers.max() ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .failed("there are no more numbers for updates of version \(base)") }
        let version = UpdatedVersion(base: base, number: number)
        guard version.text.utf8.count <= 200, !version.text.contains("/") else {
            throw .invalid("version \"\(base.prefix(60))\" cannot have updates: it is no name of a folder")
        }
        let size = Self.size(of: folder)
        guard bytes.count <= limits.bytes - min(size, limits.bytes) else {
            throw .full(
                "the updates of models have \(size) bytes, this one \(bytes.count): `taught_max_bytes` is \(limits.bytes)")
        }
        try Self.write(bytes, file: file, from: source.path, to: place + "/" + version.text)
        drop(kept.compactMap(UpdatedVersion.init), of: source.name, in: place, beside: version, keeping: limits.versions)
        do throws(RepositoryError) { try discover() } catch { throw .failed(error.message) }
        return version.text
    }

    /// Removes a version that an update made, and no longer serves it. Blocks.
    private func dropUpdate(_ version: String, of name: String) {
        guard let folder = updatesFolder, UpdatedVersion(version) != nil else { return }
        try? FileManager.default.removeItem(atPath: folder + "/" + name + "/" + version)
        try? discover()
    }

    /// Removes the oldest updates beyond a number, and never what answers now.
    private func drop(
        _ kept: [UpdatedVersion], of name: String, in place: String, beside new: UpdatedVersion, keeping count: Int
    ) {
        let ascending = kept.sorted { VersionOrder($0.text) < VersionOrder($1.text) }
        let answering = try? updateSource(of: name).version
        let removed = ascending.filter { $0 != new && $0.text != answering }.prefix(max(0, kept.count + 1 - max(2, count)))
        for version in removed { try? FileManager.default.removeItem(atPath: place + "/" + version.text) }
    }

    /// The bytes of the files below a folder.
    private static func size(of folder: String) -> Int {
        BundleWalk(folder).entries.reduce(0) { sum, entry in
            entry.status.st_mode & S_IFMT == S_IFREG ? sum + Int(entry.status.st_size) : sum
        }
    }

    /// A folder with the model file, and the other small files of the bundle that it comes from: whole, or not there.
    private static func write(_ bytes: [UInt8], file: String, from source: String, to target: String) throws(UpdateError) {
        let slash = target.lastIndex(of: "/") ?? target.startIndex
        let (place, name) = (String(target[..<slash]), String(target[target.index(after: slash)...]))
        let work = place + "/.unfinished-" + name
        do {
            try? FileManager.default.removeItem(atPath: work)
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
            if FileManager.default.fileExists(atPath: source + "/model.json") {
                for other in try FolderReader.disk.names(source) where other != file && !other.hasPrefix(".") {
                    try FileManager.default.copyItem(atPath: source + "/" + other, toPath: work + "/" + other)
                }
            }
            try DurableFile.write(bytes, to: work + "/" + file)
            try DurableFile.syncAll(below: work)
            try DurableFile.rename(work, to: target)
        } catch {
            try? FileManager.default.removeItem(atPath: work)
            if let failure = error as? DurableFile.Failure, failure.isFull {
                throw .full("\(failure.reason): make room on the disk of `taught_dir`; nothing was changed")
            }
            throw .failed("the update cannot be written: \((error as? DurableFile.Failure)?.reason ?? "\(error)")")
        }
    }
}
