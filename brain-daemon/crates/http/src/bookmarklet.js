'use strict'
const element = (id) => document.getElementById(id)
const page = new URLSearchParams(location.hash.slice(1))
const savedToken = () => localStorage.getItem('brain-token')
const title = page.get('title') || page.get('url') || 'A note'
element('title').textContent = title
element('url').textContent = page.get('url') || ''
element('text').value = page.get('text') || title
element('ask').hidden = Boolean(savedToken())
element(savedToken() ? 'keep' : 'token').focus()
element('form').addEventListener('submit', async (event) => {
  event.preventDefault()
  const token = savedToken() || element('token').value.trim()
  const status = element('status')
  status.textContent = '…'
  try {
    const response = await fetch('/ingest', {
      method: 'POST',
      headers: { Authorization: 'Bearer ' + token, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        title, url: page.get('url') || undefined, content: element('text').value
      }),
    })
    const reply = await response.json()
    if (response.status === 401) localStorage.removeItem('brain-token')
    if (response.ok) localStorage.setItem('brain-token', token)
    element('ask').hidden = Boolean(savedToken())
    const done = reply.status === 'duplicate' ? 'Kept already.' : 'Kept.'
    status.textContent = response.ok ? done : reply.message
    if (response.ok) setTimeout(() => window.close(), 900)
  } catch {
    element('status').textContent = 'brain does not answer.'
  }
})
