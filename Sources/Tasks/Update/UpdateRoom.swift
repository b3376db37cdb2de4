internal import Inference
internal import Repository
internal import Teaching

extension TaughtStore {
    /// The room for updates of models: the part of the folder's limit that taught models leave.
    func room(forVersions versions: Int) -> ModelRepository.UpdateRoom {
        ModelRepository.UpdateRoom(
            versions: versions,
            take: { [self] bytes in
                do throws(TeachingError) {
                    try take(bytes)
                    return nil
                } catch {
                    return .full(error.message)
                }
            },
            give: { [self] bytes in count(-bytes) })
    }
}
