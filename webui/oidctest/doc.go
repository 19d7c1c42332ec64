// Package oidctest runs the dashboard behind oauth2-proxy, which logs people in at a provider of OpenID Connect: the
// setup of docs/dashboard.md. It has tests only. It is a module of its own, and not one of the workspace: the modules
// that oauth2-proxy needs would have the whole workspace be built with their versions. "make oidc" runs it.
package oidctest
