// Re-exports the choices that the module's API uses.
@_exported public import Choices
