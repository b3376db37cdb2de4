/// The handling of a model with answers that no second engine or evaluation has confirmed.
public enum UnconfirmedPolicy: String, Sendable, Hashable, CaseIterable {
    /// It is served, with a warning in the log. The default.
    case serve

    /// It fails to load; the reason says why it is not confirmed.
    case refuse
}
