package import EngineAPI
internal import FoundationEssentials
internal import Glibc
package import Inference
package import SystemSupport

/// Model versions created by updates. They are kept in a separate folder, never among the models' own files:
/// `NAME/VERSION/`, each with the model file and the other files of the source bundle.
extension ModelRepository {
    /// The version that an update starts from.
    package struct UpdateSource: Sendable {
        package let name: String
        package let version: String
        /// The path of the bundle or file.
        let path: String
    }

    /// The disk budget of updates.
    package struct UpdateBudget: Sendable {
        /// The number of versions kept for each model, at least one.
        let versions: Int
        /// Reserves bytes; returns the error if they are not available.
        let take: @Sendable (Int) -> UpdateError?
        /// Returns bytes.
        let give: @Sendable (Int) -> Void

        package init(
            versions: Int, take: @escaping @Sendable (Int) -> UpdateError?, give: @escaping @Sendable (Int) -> Void
        ) {
            (self.versions, self.take, self.give) = (versions, take, give)
        }
    }

    /// The folder of updates within a folder of taught models; no taught model can have this name.
    package static func updatesFolder(in folder: String) -> String { folder + "/.updates" }

    /// Keeps updates in a folder, which need not exist, serves the updates in it from the next ``discover()`` on, and
    /// removes the remains of updates that a kill interrupted. Blocks.
    /// - Returns: the total size in bytes of the files of existing updates.
    @discardableResult
    package func keepUpdates(in folder: String) -> Int {
        for name in (try? FolderReader.disk.names(folder)) ?? [] where name.hasPrefix(Self.unfinished) {
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        serveUpdates(in: folder)
        return UpdatedBundle.bytes(in: folder)
    }

    /// The version that an update of a model starts from: the one that answers.
    package func updateSource(of name: String) throws(InferenceError) -> UpdateSource {
        let highest = try highest(of: name)
        let item = serving(of: name) ?? highest
        return UpdateSource(name: name, version: item.version, path: item.path)
    }

    /// Loads what an update of a version needs.
    package func updater(for source: UpdateSource) async throws(UpdateError) -> ModelUpdater {
        do throws(UpdateError) {
            return try await ModelUpdater.load(source.path, configuration, links: configuration.links)
        } catch {
            throw error.prefixed("model \"\(source.name)\" ")
        }
    }

    /// Keeps the result of an update as a new version, loads it, and serves it from now on; the previous version is
    /// unloaded. A result that cannot be loaded before the deadline is not kept.
    package func serve(
        _ outcome: ModelUpdater.Outcome, of source: UpdateSource, by updater: ModelUpdater, _ room: UpdateBudget,
        deadline: MonotonicInstant?
    ) async throws(UpdateError) -> String {
        let kept = await LoaderThread.run { [self] () -> Result<UpdatedVersion, UpdateError> in
            Result { () throws(UpdateError) in
                try keep(outcome.bytes, updateOf: source, file: updater.file, room)
            }
        }
        let version = try kept.get()
        do throws(InferenceError) {
            _ = try await model(named: source.name, version: version.text, deadline: deadline)
            if Task.isCancelled { throw .cancelled(stage: .postprocess) }
        } catch {
            await LoaderThread.run { [self] in remove([version], of: source.name, room) }
            throw .inference(error)
        }
        await LoaderThread.run { [self] in dropOldest(of: source.name, room) }
        for item in versions(of: source.name) where item.version == source.version && item.unload() {
            onEvent(.unloaded(name: item.name, version: item.version, why: "version \(version.text) replaces it"))
        }
        return version.text
    }

    // MARK: Files

    private static let unfinished = ".unfinished-"

    /// Writes the files of a new version, and makes it known; it is not loaded yet. Blocks.
    private func keep(
        _ bytes: [UInt8], updateOf source: UpdateSource, file: String, _ room: UpdateBudget
    ) throws(UpdateError) -> UpdatedVersion {
        guard let folder = updatesFolder else { throw .failed("there is no folder for updates (taught_dir)") }
        let version = try nextVersion(after: source)
        let bundle: UpdatedBundle
        do throws(FileFailure) {
            bundle = try UpdatedBundle(bytes, replacing: file, in: source.path)
        } catch {
            throw .failed("the files of \(source.name) cannot be read: \(error.reason)")
        }
        if let problem = room.take(bundle.bytes) { throw problem }
        let work = folder + "/" + Self.unfinished + source.name + "-" + version.text
        do throws(FileFailure) {
            try DurableFiles.create(folder: folder + "/" + source.name)
            try DurableFiles.sync(folder: folder)
            try bundle.write(to: work)
            try DurableFiles.rename(work, to: folder + "/" + source.name + "/" + version.text)
        } catch {
            try? FileManager.default.removeItem(atPath: work)
            room.give(bundle.bytes)
            guard error.isFullDisk else { throw .failed("the update cannot be written: \(error.reason)") }
            throw .full("the disk of `taught_dir` is full: make room on it; nothing was changed")
        }
        do throws(RepositoryError) {
            try discover(among: [folder + "/" + source.name + "/" + version.text], ignoring: [])
        } catch {
            remove([version], of: source.name, room)
            throw .failed(error.message)
        }
        return version
    }

    /// The version number of the next update of a version.
    private func nextVersion(after source: UpdateSource) throws(UpdateError) -> UpdatedVersion {
        let kept = keptUpdates(of: source.name)
        let base = kept.first { $0.text == source.version }?.base ?? source.version
        let known = kept + versions(of: source.name).compactMap { UpdatedVersion($0.version) }
        let (number, overflow) = (known.filter { $0.base == base }.map(\.number).max() ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .failed("there are no more numbers for updates of version \(base)") }
        let version = UpdatedVersion(base: base, number: number)
        // Name and version become names of folders.
        for name in [source.name, version.text]
        where name.utf8.count > 200 || name.contains("/") || name.first == "." || name.first == "_" {
            throw .invalid("\"\(name.prefix(60))\" cannot be updated: it cannot be the name of a folder")
        }
        return version
    }

    /// The versions of a model that were created by updates, oldest first. Blocks.
    private func keptUpdates(of name: String) -> [UpdatedVersion] {
        guard let folder = updatesFolder else { return [] }
        return ((try? FolderReader.disk.names(folder + "/" + name)) ?? []).compactMap(UpdatedVersion.init)
            .sorted { VersionOrder($0.text) < VersionOrder($1.text) }
    }

    /// Removes the oldest updates of a model until at most the configured number remains. Blocks.
    private func dropOldest(of name: String, _ room: UpdateBudget) {
        let kept = keptUpdates(of: name)
        let old = kept.dropLast(max(1, room.versions))
        if !old.isEmpty { remove(Array(old), of: name, room) }
    }

    /// Removes versions created by updates, and stops serving them. Blocks.
    private func remove(_ versions: [UpdatedVersion], of name: String, _ room: UpdateBudget) {
        guard let folder = updatesFolder else { return }
        for version in versions {
            let path = folder + "/" + name + "/" + version.text, gone = folder + "/" + Self.unfinished + name + "-gone"
            let bytes = UpdatedBundle.bytes(in: path)
            try? FileManager.default.removeItem(atPath: gone)
            // Rename first, so that a kill leaves no partial bundle that would be served.
            guard rename(path, gone) == 0 else { continue }
            try? FileManager.default.removeItem(atPath: gone)
            room.give(bytes)
        }
        rmdir(folder + "/" + name)
        // If the model folders cannot be read now, the next scan removes the versions.
        try? discover(among: Set(versions.map { folder + "/" + name + "/" + $0.text }), ignoring: [])
    }
}
